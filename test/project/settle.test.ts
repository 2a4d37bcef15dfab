import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkoutsOf } from '../../src/project/checkouts.js';
import { discoverRepository } from '../../src/project/repository.js';
import { findProject, projectByName, resolveProject } from '../../src/project/resolve.js';
import { linkCheckout, newProject } from '../../src/project/settle.js';
import { migrate } from '../../src/store/migrate.js';
import { ensureMachine, ProjectTable } from '../../src/store/projects.js';
import { gitEnv, repositoryAt, run, scratch } from './git-folder.js';

const ONE = 'git@github.com:me/one.git';
const TWO = 'git@github.com:me/two.git';

let db: Database.Database;
let table: ProjectTable;
let here: number;
let base: string;

beforeEach(() => {
  db = new Database(':memory:');
  db.pragma('foreign_keys = ON');
  migrate(db, ':memory:');
  table = new ProjectTable(db);
  here = ensureMachine(db, { machineId: 'a'.repeat(32), name: 'here' });
  base = scratch();
});

const at = (...segments: string[]) => join(base, ...segments);
const context = () => ({ machine: here, now: 1 });
const discover = (folder: string) => discoverRepository(at(folder), gitEnv);
/** The project's name, as a mount would have it. */
const nameOf = async (folder: string) => resolveProject(table, await discover(folder), context()).name;
const link = async (folder: string, name: string) =>
  linkCheckout(table, await discover(folder), projectByName(table, name), context());
const own = async (folder: string) => newProject(table, await discover(folder), context());
const refusal = async (folder: string) => {
  const repository = await discover(folder);
  try {
    findProject(table, repository, here);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it was accepted');
};
/** A checkout of one, with the remote of two, which has a checkout of its own. */
const disagreeing = async () => {
  await nameOf(makeAt('one', ONE));
  await nameOf(makeAt('two', TWO));
  run(at('one'), 'remote', 'set-url', 'origin', TWO);
};
const makeAt = (folder: string, origin?: string) => {
  repositoryAt(at(folder), origin);
  return folder;
};

describe('a path that says one and a remote that says two', () => {
  beforeEach(disagreeing);

  it.each(['one', 'two'])('is settled by linking it to %s, and other checkouts of the remote stay', async (name) => {
    expect(await refusal('one')).toMatch(/belongs to project "two" but/);
    const settled = await link('one', name);
    expect(settled).toMatchObject({ project: { name }, left: name === 'two' ? [{ name: 'one' }] : [] });
    expect(settled).toMatchObject({ remote: name === 'two' ? 'own' : 'stays', remoteOf: { name: 'two' } });
    expect(await nameOf('one')).toBe(name);
    expect(await nameOf('two')).toBe('two');
    expect(await nameOf(makeAt('three', TWO))).toBe('two');
  });

  it('is settled by a project of its own', async () => {
    expect(await own('one')).toMatchObject({ project: { name: 'me/two' }, left: [{ name: 'one' }], remote: 'stays' });
    expect(await nameOf('one')).toBe('me/two');
    expect(await nameOf('two')).toBe('two');
    expect(await nameOf(makeAt('three', ONE))).toBe('one');
  });

  it('is settled for work trees and subfolders too', async () => {
    run(at('one'), 'worktree', 'add', '-q', at('tree'));
    mkdirSync(at('tree/sub'));
    await link('tree/sub', 'one');
    for (const folder of ['one', 'tree', 'tree/sub']) expect(await nameOf(folder)).toBe('one');
  });

  it('is asked about again once the remote is yet another', async () => {
    await link('one', 'one');
    run(at('one'), 'remote', 'set-url', 'origin', 'git@github.com:me/three.git');
    expect(await refusal('one')).toMatch(/me\/three belongs to no project yet but the path/);
    run(at('one'), 'remote', 'set-url', 'origin', TWO);
    expect(await nameOf('one')).toBe('one');
    run(at('one'), 'remote', 'remove', 'origin');
    expect(await nameOf('one')).toBe('one');
    run(at('one'), 'remote', 'add', 'origin', ONE);
    expect(await nameOf('one')).toBe('one');
  });

  it('is asked about again where another repository takes the place', async () => {
    await own('one');
    renameSync(at('one'), at('away'));
    expect(await refusal(makeAt('one', 'git@github.com:me/three.git'))).toMatch(/belongs to no project yet/);
    await own('one');
    expect(await nameOf('one')).toBe('three');
  });

  it('is asked about where the checkout is moved, as it might be a new clone of the remote', async () => {
    await link('one', 'one');
    renameSync(at('one'), at('moved'));
    const message = await refusal('moved');
    expect(message).toBe(
      `the remote github.com/me/two belongs to project "two", but a checkout of it that is gone, ${at('one')}, was ` +
        `linked to project "one": run "mend project link two ${at('moved')}" or "mend project link one ${at('moved')}" ` +
        `for the project that this checkout belongs to, or "mend project new ${at('moved')}" if it is a new one`,
    );
    await link('moved', 'one');
    expect(await nameOf('moved')).toBe('one');
    // Answered once, the next clone is none of its business.
    expect(await nameOf(makeAt('clone', TWO))).toBe('two');
    renameSync(at('moved'), at('one'));
    expect(await refusal('one')).toMatch(/belongs to project "two" but the path/);
  });

  it('is left to the remote when the clone that might be it was linked there', async () => {
    await link('one', 'one');
    renameSync(at('one'), at('elsewhere'));
    makeAt('clone', TWO);
    expect(await refusal('clone')).toMatch(/was linked to project "one"/);
    await link('clone', 'two');
    expect(await nameOf('clone')).toBe('two');
    expect(await nameOf(makeAt('another', TWO))).toBe('two');
    expect(await checkoutsOf(table, projectByName(table, 'one'), here, gitEnv)).toEqual({
      repositories: [],
      left: [{ path: at('one'), reason: expect.stringContaining('there is no folder') }],
    });
  });

  it('is said of the checkouts that a project has', async () => {
    const one = await checkoutsOf(table, projectByName(table, 'one'), here, gitEnv);
    expect(one).toEqual({
      repositories: [],
      left: [{ path: at('one'), reason: expect.stringMatching(/mend project link/) }],
    });
    await link('one', 'two');
    const two = await checkoutsOf(table, projectByName(table, 'two'), here, gitEnv);
    expect(two.repositories.map(({ root }) => root)).toEqual([at('one'), at('two')]);
    expect(two.left).toEqual([]);
  });
});

describe('a remote with a new URL', () => {
  beforeEach(async () => {
    await nameOf(makeAt('one', ONE));
    run(at('one'), 'remote', 'set-url', 'origin', 'https://example.org/new/one');
    expect(await refusal('one')).toMatch(/example\.org\/new\/one belongs to no project yet/);
  });

  it('is the old project once it is linked, and so is every clone', async () => {
    expect(await link('one', 'one')).toMatchObject({ remote: 'added', left: [] });
    expect(await nameOf('one')).toBe('one');
    expect(await nameOf(makeAt('clone', 'https://example.org/new/one'))).toBe('one');
    expect(await nameOf(makeAt('old', ONE))).toBe('one');
  });

  it('is a new project once it is made, and so is every clone', async () => {
    expect(await own('one')).toMatchObject({ project: { name: 'new/one' }, remote: 'added', left: [{ name: 'one' }] });
    expect(await nameOf(makeAt('clone', 'https://example.org/new/one'))).toBe('new/one');
    expect(await nameOf(makeAt('old', ONE))).toBe('one');
  });
});

describe('a remote whose project has no other checkout', () => {
  it('goes along, and clones follow', async () => {
    await nameOf(makeAt('one', ONE));
    await nameOf(makeAt('two', TWO));
    expect(await link('two', 'one')).toMatchObject({
      remote: 'moved',
      remoteOf: { name: 'two' },
      left: [{ name: 'two' }],
    });
    expect(await nameOf(makeAt('clone', TWO))).toBe('one');
    expect(table.list(here).find(({ name }) => name === 'two')).toMatchObject({ remotes: [], paths: [] });
  });

  it('stays while a checkout on another machine is known', async () => {
    await nameOf(makeAt('one', ONE));
    await nameOf(makeAt('two', TWO));
    const two = projectByName(table, 'two');
    table.addAlias(two.id, { kind: 'path', machine: here + 1, value: '/there/two' });
    expect(await link('two', 'one')).toMatchObject({ remote: 'stays', remoteOf: { name: 'two' } });
    expect(await nameOf(makeAt('clone', TWO))).toBe('two');
    expect(await nameOf('two')).toBe('one');
  });
});

describe('a local clone', () => {
  it('becomes a project of its own, and its origin stays one with other clones', async () => {
    await nameOf(makeAt('origin'));
    run(base, 'clone', '-q', at('origin'), at('a'));
    run(base, 'clone', '-q', at('origin'), at('b'));
    expect(await nameOf('a')).toBe('origin');
    expect(await own('a')).toMatchObject({ project: { name: `${base.split('/').at(-1)}/origin` }, remote: 'stays' });
    expect(await nameOf('b')).toBe('origin');
    expect(await nameOf('origin')).toBe('origin');
    expect(await nameOf('a')).not.toBe('origin');
  });

  it('whose origin is linked elsewhere stays where it is', async () => {
    await nameOf(makeAt('origin'));
    await nameOf(makeAt('other'));
    run(base, 'clone', '-q', at('origin'), at('a'));
    expect(await nameOf('a')).toBe('origin');
    expect(await link('origin', 'other')).toMatchObject({ remote: 'none', left: [{ name: 'origin' }] });
    expect([await nameOf('origin'), await nameOf('a')]).toEqual(['other', 'origin']);
  });
});

describe('what is linked', () => {
  it('may have been unknown, without a remote, or outside Git', async () => {
    await nameOf(makeAt('one', ONE));
    makeAt('plain');
    mkdirSync(at('notes'));
    makeAt('fork', 'git@github.com:you/one.git');
    for (const folder of ['plain', 'notes', 'fork']) {
      expect((await link(folder, 'one')).left).toEqual([]);
      expect(await nameOf(folder)).toBe('one');
    }
    expect(await nameOf(makeAt('clone', 'git@github.com:you/one.git'))).toBe('one');
  });

  it('is a submodule alone, not what it lies in', async () => {
    makeAt('library');
    makeAt('app', ONE);
    run(at('app'), 'submodule', '--quiet', 'add', at('library'), 'lib');
    expect(await nameOf('app')).toBe('one');
    expect(await nameOf('app/lib')).toBe('library');
    await nameOf(makeAt('two', TWO));
    await link('app/lib', 'two');
    expect([await nameOf('app'), await nameOf('app/lib'), await nameOf('library')]).toEqual(['one', 'two', 'library']);
  });

  it('is a separate .git folder with its work tree', async () => {
    mkdirSync(at('app'));
    run(base, 'init', '-q', `--separate-git-dir=${at('store')}`, at('app'));
    run(at('app'), 'commit', '-q', '--allow-empty', '-m', 'first');
    run(at('app'), 'worktree', 'add', '-q', at('tree'));
    expect(await nameOf('app')).toBe('app');
    await nameOf(makeAt('two', TWO));
    await link('app', 'two');
    expect([await nameOf('app'), await nameOf('tree')]).toEqual(['two', 'two']);
  });

  it('changes nothing when it is linked again', async () => {
    await disagreeing();
    const first = await link('one', 'one');
    expect(await link('one', 'one')).toEqual(first);
  });
});

describe('a project of its own', () => {
  it('is not made twice while it has no memory', async () => {
    await nameOf(makeAt('one', ONE));
    makeAt('clone', ONE);
    const first = await own('clone');
    const second = await own('clone');
    expect(second).toMatchObject({ project: first.project, left: [] });
    expect(table.list(here)).toHaveLength(2);
  });

  it('is the one that a checkout has, while that has no memory and no other checkout', async () => {
    await nameOf(makeAt('one', ONE));
    expect(await own('one')).toMatchObject({ project: { name: 'one' }, left: [], remote: 'own' });
    await nameOf(makeAt('clone', ONE));
    expect(await own('one')).toMatchObject({ project: { name: 'me/one' }, left: [{ name: 'one' }], remote: 'stays' });
    expect([await nameOf('one'), await nameOf('clone')]).toEqual(['me/one', 'one']);
  });

  it('is made anew for the only checkout of a project that has memory, and clones follow', async () => {
    await nameOf(makeAt('one', ONE));
    const [one] = table.list(here);
    db.exec(`INSERT INTO tree (id, project, harness, root) VALUES (1, ${one?.id}, 'claude', 1);
      INSERT INTO version (tree, path, number, content, kind, at, session, machine) VALUES (1, 'a', 1, 1, 'saved', 1, 0, 1)`);
    expect(await own('one')).toMatchObject({ project: { name: 'me/one' }, left: [{ name: 'one' }], remote: 'moved' });
    expect(await nameOf(makeAt('clone', ONE))).toBe('me/one');
  });
});
