import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { claudeSlug } from '../../src/harness/claude.js';
import { folderOwner, type PlainFolder, refuseForeignFolder } from '../../src/project/folder-owner.js';
import { setAside } from '../../src/project/set-aside.js';
import type { Project } from '../../src/store/projects.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { openStore } from '../store/fresh-store.js';
import { scratch } from './git-folder.js';

let store: Store;
let base: string;
let dashed: string;
let nested: string;

beforeEach(() => {
  store = openStore();
  base = scratch();
  dashed = join(base, 'a-b');
  nested = join(base, 'a/b');
  for (const root of [dashed, nested]) mkdirSync(root, { recursive: true });
});

/** Where memory lies with a configuration folder. */
const settings = (name: string) => (root: string) => join(base, name, claudeSlug(root), 'memory');
const folder = (root: string, name = 'config'): PlainFolder => ({
  ...{ harness: 'claude', path: settings(name)(root), folderOf: settings(name) },
});
const project = (name: string, root: string): Project =>
  store.write(() => {
    const made = store.projects.create([name], 1);
    store.projects.settlePath(made.id, store.machine, root, null);
    return made;
  });
const treeOf = (of: Project): TreeRow =>
  store.write(
    () => store.trees.find(of.id, 'claude') ?? store.trees.create(of.id, 'claude', () => store.newId(), store.now),
  );
const mounted = (of: Project, root: string, at = folder(root)): void => {
  const row = { id: store.newId(), tree: treeOf(of).id, path: at.path, checkout: root, owner: 'test' };
  store.write(() =>
    store.trees.putMount({ ...row, id: store.trees.mountsAt(store.machine, at.path)[0]?.id ?? row.id }, store.machine),
  );
};
/** Puts a file into the folder, as taken in for a project. */
const exchanged = (of: Project, root: string, name = 'note.md', text = 'text', at = folder(root)): void => {
  mkdirSync(at.path, { recursive: true });
  writeFileSync(join(at.path, name), text);
  store.write(() => {
    const content = store.putContent(Buffer.from(text));
    store.bases.put(store.machine, at.path, treeOf(of).id, { path: name, sent: content, stored: content });
  });
};
const owner = (root: string, of?: Project, at = folder(root)) => folderOwner(store, at, of?.id);

describe('two checkouts that have one folder', () => {
  it('have one folder', () => expect(folder(dashed).path).toBe(folder(nested).path));

  it('are told apart by what was mounted', () => {
    const one = project('one', dashed);
    expect(owner(dashed, one)).toBeUndefined();
    mounted(one, dashed);
    expect(owner(dashed, one)).toBeUndefined();
    const first = { project: one, checkout: dashed, live: true };
    expect(owner(nested)).toEqual(first);
    const two = project('two', nested);
    expect(owner(nested, two)).toEqual(first);
    expect(owner(dashed, one)).toBeUndefined();
  });

  it('are told apart by what was exchanged', () => {
    const one = project('one', dashed);
    exchanged(one, dashed);
    expect(owner(nested)).toEqual({ project: one, checkout: dashed, live: true });
    expect(owner(dashed, one)).toBeUndefined();
  });

  it('are told apart when nothing was exchanged yet', () => {
    const one = project('one', dashed);
    expect(owner(nested)).toEqual({ project: one, checkout: dashed, live: true });
    const two = project('two', nested);
    expect(owner(dashed, one)).toEqual({ project: two, checkout: nested, live: true });
  });

  it('may be of one project', () => {
    const one = project('one', dashed);
    mounted(one, dashed);
    exchanged(one, dashed);
    store.write(() => store.projects.settlePath(one.id, store.machine, nested, null));
    expect([owner(dashed, one), owner(nested, one)]).toEqual([undefined, undefined]);
  });

  it('part with another setting for one of them', () => {
    const one = project('one', dashed);
    mounted(one, dashed);
    exchanged(one, dashed);
    const two = project('two', nested);
    const elsewhere = folder(nested, 'other');
    expect(owner(nested, two, elsewhere)).toBeUndefined();
    mounted(two, nested, elsewhere);
    expect([owner(dashed, one), owner(nested, two, elsewhere)]).toEqual([undefined, undefined]);
    expect(owner(nested, two)).toMatchObject({ project: one });
  });

  it('are named in the refusal, with what to do', () => {
    const one = project("it's", dashed);
    mounted(one, dashed);
    const refuse = (setting?: string) => () => refuseForeignFolder(store, folder(nested), nested, undefined, setting);
    expect(refuse('CLAUDE_CONFIG_DIR')).toThrow(
      `the memory folder ${folder(nested).path} of ${nested} is that of ${dashed}, too, which belongs to project ` +
        `"it's", and memory of two projects is never mixed: run "mend project link 'it'\\''s' ${nested}" if both are ` +
        'one project, or set CLAUDE_CONFIG_DIR to another folder for one of them',
    );
    expect(refuse()).toThrow(/if both are one project$/);
    expect(() => refuseForeignFolder(store, folder(dashed), dashed, one, undefined)).not.toThrow();
  });
});

describe('a folder that was used for another project', () => {
  let one: Project;
  let two: Project;
  const make = (): void => {
    one = project('one', dashed);
    mounted(one, dashed);
    exchanged(one, dashed);
  };
  const giveAway = (): void => {
    two = project('two', nested);
    store.write(() => store.projects.settlePath(two.id, store.machine, dashed, null));
  };

  it('is not free by the checkout being given away', () => {
    make();
    giveAway();
    rmSync(nested, { recursive: true });
    expect(owner(dashed, two)).toEqual({ project: one, checkout: undefined, live: false });
    expect(() => refuseForeignFolder(store, folder(dashed), dashed, two, undefined)).toThrow(
      `holds memory of project "one": run "mend project link two ${dashed}" to put that aside, or ` +
        `"mend project link one ${dashed}" if this checkout is that project`,
    );
  });

  it('is not free by the checkout being gone', () => {
    make();
    rmSync(dashed, { recursive: true });
    expect(owner(nested)).toEqual({ project: one, checkout: dashed, live: false });
    expect(() => refuseForeignFolder(store, folder(nested), nested, undefined, undefined)).toThrow(
      `run "mend project new ${nested}" to put that aside`,
    );
  });

  it('is free when it was only mounted, and nothing lay there', () => {
    one = project('one', dashed);
    mounted(one, dashed);
    giveAway();
    rmSync(nested, { recursive: true });
    expect(owner(dashed, two)).toBeUndefined();
  });

  it('is free once what lies there was put aside, and the other project finds what it exchanged', () => {
    make();
    exchanged(one, dashed, 'changed.md', 'before');
    writeFileSync(join(folder(dashed).path, 'changed.md'), 'after');
    mkdirSync(join(folder(dashed).path, 'deep'));
    writeFileSync(join(folder(dashed).path, 'deep/new.md'), 'new');
    writeFileSync(join(folder(dashed).path, '.note.md.swp'), 'swap');
    symlinkSync('note.md', join(folder(dashed).path, 'link.md'));
    giveAway();
    const put = (name: string) =>
      store.write(() => setAside(store, folder(dashed).path, treeOf(one).id, name, (path) => path.endsWith('.swp')));
    const to = `${folder(dashed).path}.one-s`;
    expect(put('one s')).toEqual({ from: folder(dashed).path, to, changed: 3 });
    expect(existsSync(folder(dashed).path)).toBe(false);
    expect(readFileSync(join(to, 'changed.md'), 'utf8')).toBe('after');
    expect([...store.bases.of(store.machine, to, treeOf(one).id).keys()]).toEqual(['changed.md', 'note.md']);
    expect(owner(dashed, two)).toBeUndefined();

    exchanged(one, dashed);
    expect(put('one s')).toMatchObject({ to: `${to}-2`, changed: 0 });
    mkdirSync(folder(dashed).path);
    exchanged(one, dashed);
    rmSync(join(folder(dashed).path, 'note.md'));
    expect(put('one s')).toEqual({ from: folder(dashed).path, to: undefined, changed: 0 });
    expect(store.bases.of(store.machine, folder(dashed).path, treeOf(one).id).size).toBe(0);
  });
});
