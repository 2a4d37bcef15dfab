import { renameSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import { discoverRepository } from '../../src/project/repository.js';
import { projectByName, resolveProject } from '../../src/project/resolve.js';
import { migrate } from '../../src/store/migrate.js';
import { ensureMachine, type Project, ProjectTable } from '../../src/store/projects.js';
import { gitEnv, repositoryAt, run, scratch } from './git-folder.js';

const APP = 'git@github.com:owner/app.git';

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
const resolve = async (folder: string, machine = here) =>
  resolveProject(table, await discoverRepository(folder, gitEnv), { machine, now: 1_700_000_000_000_000 });
const everything = () => ({
  projects: db.prepare('SELECT * FROM project ORDER BY id').all(),
  aliases: db.prepare('SELECT * FROM project_alias ORDER BY kind, machine, value').all(),
});
const refusal = async (folder: string) => {
  const before = everything();
  const error: unknown = await resolve(folder).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'MendError', kind: 'failed' });
  expect(everything()).toEqual(before);
  return (error as Error).message;
};

describe('the same project', () => {
  it('is found again, from a subfolder, a work tree, a clone, and after a move', async () => {
    const project = await resolve(repositoryAt(at('app'), APP));
    expect(project).toEqual({ id: project.id, name: 'app', created: 1_700_000_000_000_000 });
    run(at('app'), 'worktree', 'add', '-q', at('tree'));
    expect(await resolve(at('tree'))).toEqual(project);
    expect(await resolve(repositoryAt(at('second'), 'https://github.com/owner/app'))).toEqual(project);
    renameSync(at('app'), at('renamed'));
    expect(await resolve(at('renamed'))).toEqual(project);
    expect(table.list(here)).toEqual([
      { ...project, remotes: ['github.com/owner/app'], paths: [at('app'), at('renamed'), at('second')] },
    ]);
  });

  it('writes nothing once everything is known', async () => {
    const project = await resolve(repositoryAt(at('app'), APP));
    db.pragma('query_only = ON');
    expect(await resolve(at('app'))).toEqual(project);
  });

  it('is found from another machine by its remote, never by its path', async () => {
    const there = ensureMachine(db, { machineId: 'b'.repeat(32), name: 'there' });
    const app = await resolve(repositoryAt(at('app'), APP));
    const notes = await resolve(repositoryAt(at('notes')));
    expect(await resolve(at('app'), there)).toEqual(app);
    expect((await resolve(at('notes'), there)).id).not.toBe(notes.id);
    expect(table.list(there).find(({ id }) => id === app.id)?.paths).toEqual([at('app')]);
    expect(table.list(there).find(({ id }) => id === notes.id)?.paths).toEqual([]);
  });

  it('is kept when a repository gets its first remote, and when it loses it', async () => {
    const project = await resolve(repositoryAt(at('app')));
    run(at('app'), 'remote', 'add', 'origin', APP);
    expect(await resolve(at('app'))).toEqual(project);
    run(at('app'), 'remote', 'remove', 'origin');
    expect(await resolve(at('app'))).toEqual(project);
    expect(await resolve(repositoryAt(at('other'), APP))).toEqual(project);
  });

  it('holds a local clone and its origin, whichever comes first', async () => {
    repositoryAt(at('one'));
    run(base, 'clone', '-q', at('one'), at('one-clone'));
    const one = await resolve(at('one'));
    expect(await resolve(at('one-clone'))).toEqual(one);

    repositoryAt(at('two'), 'https://example.org/me/two');
    run(base, 'clone', '-q', at('two'), at('two-clone'));
    const two = await resolve(at('two-clone'));
    expect(two.name).toBe('two');
    expect(await resolve(at('two'))).toEqual(two);
    expect(await resolve(at('two-clone'))).toEqual(two);
    expect(table.list(here).find(({ id }) => id === two.id)).toMatchObject({
      remotes: ['example.org/me/two'],
      paths: [at('two'), at('two-clone')],
    });
  });

  it('is a folder outside Git, also once it becomes a repository', async () => {
    const notes = await resolve(base);
    expect((await resolve(repositoryAt(base))).id).toBe(notes.id);
  });

  it('is one when another connection makes it between the look and the lock', async () => {
    const file = at('store.db');
    const [first, second] = [new Database(file), new Database(file)] as const;
    migrate(first, file);
    const repository = await discoverRepository(repositoryAt(at('app'), APP), gitEnv);
    const context = { machine: 1, now: 1 };
    const made: Project[] = [];
    class Raced extends ProjectTable {
      override immediate<T>(work: () => T): T {
        made.push(resolveProject(new ProjectTable(first), repository, context));
        return super.immediate(work);
      }
    }
    expect(resolveProject(new Raced(second), repository, context)).toEqual(made[0]);
    expect(new ProjectTable(second).list(1)).toHaveLength(1);
    for (const connection of [first, second]) connection.close();
  });
});

describe('different projects', () => {
  it('share no name: then owner/name, then a number', async () => {
    const names = [];
    for (const [folder, url] of [
      ['a', 'git@github.com:me/app.git'],
      ['b', 'git@github.com:you/app.git'],
      ['c', 'git@gitlab.com:you/app.git'],
      ['d', 'git@example.org:you/app.git'],
      ['e', 'host:app.git'],
      ['f', 'ssh://other/app'],
    ] as const) {
      names.push((await resolve(repositoryAt(at(folder), url))).name);
    }
    expect(names).toEqual(['app', 'you/app', 'you/app-2', 'you/app-3', 'app-2', 'app-3']);
    names.length = 0;
    for (const folder of ['x/notes', 'y/notes', 'z/y/notes'])
      names.push((await resolve(repositoryAt(at(folder)))).name);
    expect(names).toEqual(['notes', 'y/notes', 'y/notes-2']);
  });

  it('have a printable name from any folder', async () => {
    expect((await resolve(repositoryAt(at('a\u001b[31m\nb')))).name).toBe('a?[31m?b');
    run(base, 'init', '-q', '--bare', at('bare.git'));
    expect((await resolve(at('bare.git'))).name).toBe('bare');
    expect((await resolve('/')).name).toBe('root');
  });

  it('are not mixed when path and remote disagree', async () => {
    await resolve(repositoryAt(at('one'), 'git@github.com:me/one.git'));
    await resolve(repositoryAt(at('two'), 'git@github.com:me/two.git'));
    run(at('one'), 'remote', 'set-url', 'origin', 'https://github.com/me/two');
    const message = await refusal(at('one'));
    for (const part of [at('one'), 'github.com/me/two', '"one"', '"two"']) expect(message).toContain(part);
    expect(message).toBe(
      `the remote github.com/me/two belongs to project "two" but the path ${at('one')} belongs to project "one": ` +
        `run "mend project link two ${at('one')}" or "mend project link one ${at('one')}" for the project that this ` +
        `checkout belongs to, or "mend project new ${at('one')}" if it is a new one`,
    );
    run(at('one'), 'remote', 'set-url', 'origin', 'https://github.com/me/one');
    expect((await resolve(at('one'))).name).toBe('one');
  });

  it('are not mixed when another repository takes the place of one', async () => {
    await resolve(repositoryAt(at('my app'), APP));
    renameSync(at('my app'), at('away'));
    const message = await refusal(repositoryAt(at('my app'), 'git@github.com:owner/new.git'));
    expect(message).toContain('github.com/owner/new belongs to no project yet');
    expect(message).toContain(`"mend project link app '${at('my app')}'" if this checkout is that project`);
    expect(message).toContain(`"mend project new '${at('my app')}'" if it is a new one`);
  });
});

describe('by name', () => {
  it('finds a project or says where the names are', async () => {
    const project = await resolve(repositoryAt(at('app'), APP));
    expect(projectByName(table, 'app')).toEqual(project);
    expect(() => projectByName(table, 'ap\u001bp')).toThrow(/no project "ap\?p": "mend project list"/);
  });
});

describe('the tables', () => {
  it('follow the name of a machine and keep its id', () => {
    expect(here).toBeGreaterThan(0);
    expect(ensureMachine(db, { machineId: 'a'.repeat(32), name: 'renamed' })).toBe(here);
    expect(db.prepare('SELECT name FROM machine WHERE id = ?').pluck().get(here)).toBe('renamed');
  });

  it('refuse an alias that is another project’s', () => {
    const alias = { kind: 'path', machine: here, value: '/p' } as const;
    const [one, two] = [table.create(['one'], 1), table.create(['two'], 1)];
    table.addAlias(one.id, alias);
    table.addAlias(one.id, alias);
    expect(() => table.addAlias(two.id, alias)).toThrow(/UNIQUE/);
    expect(table.aliases(two.id)).toEqual([]);
  });

  it('never use the id of a project again', () => {
    const [one, two] = [table.create(['one'], 1), table.create(['two'], 1)];
    table.remove(two.id);
    expect(table.create(['three'], 1).id).toBe(two.id + 1);
    table.remove(one.id);
    expect(table.create(['four'], 1).id).toBe(two.id + 2);
  });

  it('undo a transaction that fails', () => {
    expect(() =>
      table.immediate(() => {
        table.create(['one'], 1);
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(table.list(here)).toEqual([]);
  });
});
