import { beforeEach, describe, expect, it, test } from 'vitest';
import { MemoryFiles } from '../../src/store/memory-files.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { addTree, openStore } from './fresh-store.js';

let store: Store;
let tree: TreeRow;
let memory: MemoryFiles;

beforeEach(() => {
  store = openStore();
  tree = addTree(store);
  memory = new MemoryFiles(store, tree);
});

const put = (path: string, text: string, mtime?: number): number =>
  store.write(() =>
    memory.put(path, Buffer.from(text), { kind: 'imported', session: 0, ...(mtime === undefined ? {} : { mtime }) }),
  );
const text = (path: string): string | undefined => {
  const file = memory.find(path);
  return file && store.content(file.content).toString();
};
const paths = (): string[] => memory.list().map((file) => file.path);
const kinds = (path: string): string[] => store.versions.of(tree.id, path).map((version) => version.kind);

describe('put and find', () => {
  it('makes folders on the way, once', () => {
    put('a/b/c.md', 'deep');
    put('a/b/d.md', 'beside');
    put('top.md', 'top');
    expect([text('a/b/c.md'), text('a/b/d.md'), text('top.md')]).toEqual(['deep', 'beside', 'top']);
    expect(store.loadNodes(tree.id, 0).filter((row) => row.kind === 'directory')).toHaveLength(3);
    expect(store.trees.usage(tree.project)).toEqual({ files: 3, directories: 2, bytes: 13 });
  });

  it('finds only files that were saved', () => {
    put('a/b.md', 'x');
    for (const path of ['a', 'none', 'a/none', 'a/b.md/c', '', '/a', 'a/', 'a//b.md', '.', '../x', 'x\0']) {
      expect(memory.find(path), path).toBe(undefined);
    }
    const times = { mtime: 1, atime: 1, ctime: 1, shown: 0 };
    const row = {
      id: store.newId(),
      tree: tree.id,
      mount: 0,
      parent: tree.root,
      name: 'new',
      kind: 'file',
      size: 0,
    } as const;
    store.write(() => store.insertNode({ ...row, ...times, content: null }));
    expect(memory.find('new')).toBe(undefined);
    expect(paths()).toEqual(['a/b.md']);
  });

  it('keeps the id of a file whose content changes, and adds to its history', () => {
    put('a.md', 'one');
    const id = memory.find('a.md')?.row.id;
    put('a.md', 'two');
    expect(memory.find('a.md')?.row.id).toBe(id);
    expect(text('a.md')).toBe('two');
    expect(kinds('a.md')).toEqual(['imported', 'imported']);
  });

  it('of the same bytes changes nothing', () => {
    put('a.md', 'one');
    const before = memory.find('a.md');
    const { seen } = store.feed;
    put('a.md', 'one');
    expect(memory.find('a.md')).toEqual(before);
    expect(kinds('a.md')).toHaveLength(1);
    expect(store.feed.seen).toBe(seen);
  });

  it('tells the feed of the file and of new folders', () => {
    const before = store.feed.last();
    put('d/a.md', 'one');
    const rows = store.db.prepare('SELECT node FROM change WHERE seq > ?').pluck().all(before);
    const file = memory.find('d/a.md')?.row;
    expect(rows).toEqual(expect.arrayContaining([file?.id, file?.parent]));
  });

  it('refuses a file where a folder is, and a folder where a file is, storing nothing', () => {
    put('a/b.md', 'x');
    expect(() => put('a', 'y')).toThrow(expect.objectContaining({ code: 'EISDIR' }));
    expect(() => put('a/b.md/c.md', 'y')).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
    expect(paths()).toEqual(['a/b.md']);
  });
});

describe('times', () => {
  it('a new file keeps the time it had', () => {
    put('a.md', 'one', 1_234_567_890_123_456);
    expect(memory.find('a.md')?.row.mtime).toBe(1_234_567_890_123_456);
  });

  it('a changed file gets a time later than all that were shown, even of a time to come', () => {
    const future = store.now + 3_600_000_000;
    put('a.md', 'one', future);
    let last = future;
    for (const content of ['two', 'three', 'four']) {
      put('a.md', content);
      const mtime = memory.find('a.md')?.row.mtime ?? 0;
      // Harnesses compare milliseconds.
      expect(Math.floor(mtime / 1000)).toBeGreaterThan(Math.floor(last / 1000));
      last = mtime;
    }
  });

  it('a changed file gets the time of the change', () => {
    put('a.md', 'one', 1_000_000);
    const before = store.now;
    put('a.md', 'two', 2_000_000);
    expect(memory.find('a.md')?.row.mtime).toBeGreaterThanOrEqual(before);
  });
});

test('remove keeps what the file held as a version, and a new file of the name is another', () => {
  put('d/a.md', 'one');
  const file = memory.find('d/a.md');
  if (!file) throw new Error('not found');
  store.write(() => memory.remove(file, 0));
  expect(memory.find('d/a.md')).toBe(undefined);
  expect(paths()).toEqual([]);
  expect(kinds('d/a.md')).toEqual(['removed', 'imported']);
  put('d/a.md', 'again');
  expect(memory.find('d/a.md')?.row.id).not.toBe(file.row.id);
  expect(kinds('d/a.md')).toEqual(['imported', 'removed', 'imported']);
});

test('a list is sorted by path and leaves local files and other trees out', () => {
  for (const path of ['b.md', 'a/z.md', 'a.md', 'ä.md', 'a/a.md']) put(path, path);
  const other = new MemoryFiles(store, addTree(store, 'other'));
  store.write(() => other.put('other.md', Buffer.from('x'), { kind: 'saved', session: 0 }));
  const times = { mtime: 1, atime: 1, ctime: 1, shown: 0 };
  const local = {
    id: store.newId(),
    tree: tree.id,
    mount: 9,
    parent: tree.root,
    name: 'a.md~',
    kind: 'file',
    size: 3,
  } as const;
  store.write(() => store.insertNode({ ...local, ...times, content: null }));
  expect(paths()).toEqual(['a.md', 'a/a.md', 'a/z.md', 'b.md', 'ä.md']);
  expect(memory.find('a.md~')).toBe(undefined);
  expect(store.trees.usage(tree.project).files).toBe(5);
});

test('import bases are kept apart by machine, folder, tree and path', () => {
  const base = { path: 'a.md', sent: 1, stored: 2 };
  store.write(() => {
    store.bases.put(1, '/f', tree.id, base);
    store.bases.put(1, '/f', tree.id, { path: 'b.md', sent: 3, stored: 3 });
    store.bases.put(2, '/f', tree.id, { ...base, sent: 7 });
    store.bases.put(1, '/g', tree.id, { ...base, sent: 8 });
    store.bases.put(1, '/f', tree.id, { ...base, stored: 9 });
  });
  expect(store.bases.get(1, '/f', tree.id, 'a.md')).toEqual({ ...base, stored: 9 });
  expect(store.bases.get(1, '/f', tree.id, 'none')).toBe(undefined);
  expect([...store.bases.of(1, '/f', tree.id).keys()].sort()).toEqual(['a.md', 'b.md']);
  store.write(() => store.bases.delete(1, '/f', tree.id, 'a.md'));
  expect([...store.bases.of(1, '/f', tree.id).keys()]).toEqual(['b.md']);
  expect(store.bases.get(2, '/f', tree.id, 'a.md')?.sent).toBe(7);
});
