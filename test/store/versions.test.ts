import { beforeEach, expect, test } from 'vitest';
import type { VersionKind } from '../../src/ports/store.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { addTree, openStore } from './fresh-store.js';

let store: Store;
let tree: TreeRow;

beforeEach(() => {
  store = openStore();
  tree = addTree(store);
});

function add(path: string, text: string, kind: VersionKind = 'saved', session = 0): void {
  store.write(() =>
    store.addVersion({ tree: tree.id, path, content: store.putContent(Buffer.from(text)), kind, session }),
  );
}

/** Number and text of each version, newest first. */
function history(path: string): string[] {
  return store.versions.of(tree.id, path).map(({ number, content }) => `${number} ${store.content(content)}`);
}

test('numbers rise from 1, newest first, each path by itself', () => {
  for (const text of ['a', 'b', 'c']) add('x.md', text);
  add('y.md', 'other');
  expect(history('x.md')).toEqual(['3 c', '2 b', '1 a']);
  expect(history('y.md')).toEqual(['1 other']);
  expect(store.versions.lastNumber(tree.id, 'x.md')).toBe(3);
  expect(store.versions.lastNumber(tree.id, 'none')).toBe(0);
});

test('20 versions are kept besides the newest, and numbers go on', () => {
  for (let i = 1; i <= 21; i++) add('x.md', `${i}`);
  expect(history('x.md').at(-1)).toBe('1 1');
  add('x.md', '22');
  expect(history('x.md')).toHaveLength(21);
  expect(history('x.md').at(-1)).toBe('2 2');
  for (let i = 23; i <= 100; i++) add('x.md', `${i}`);
  expect(history('x.md').map((line) => Number(line.split(' ')[0]))).toEqual(
    Array.from({ length: 21 }, (_, i) => 100 - i),
  );
});

test('a version tells who made it, where, when, and what', () => {
  const session = store.write(() => store.sessionRow({ key: 'k', name: 'claude 12' }));
  const before = store.now;
  add('x.md', 'text', 'conflict', session);
  const [version] = store.versions.of(tree.id, 'x.md');
  expect(version).toMatchObject({
    path: 'x.md',
    number: 1,
    kind: 'conflict',
    session: 'claude 12',
    machine: 'this-host',
    bytes: 4,
  });
  expect(version?.at).toBeGreaterThanOrEqual(before);
  expect(version?.at).toBeLessThanOrEqual(store.now);
  add('x.md', 'more');
  expect(store.versions.of(tree.id, 'x.md')[0]?.session).toBe(null);
});

test('a merged version tells what it came from, and no other kind does', () => {
  store.write(() => {
    const [base, written, content] = ['base', 'written', 'merged'].map((text) => store.putContent(Buffer.from(text)));
    if (base === undefined || written === undefined || content === undefined) throw new Error('not stored');
    const times = { mtime: 1, atime: 1, ctime: 1, shown: 1 };
    const row = { id: store.newId(), tree: tree.id, mount: 0, parent: tree.root, name: 'x.md', size: 6, ...times };
    store.insertNode({ ...row, kind: 'file', content: null });
    store.saveHead({ ...row, kind: 'file', content: written }, 'x.md', 'saved', 0);
    store.saveHead({ ...row, kind: 'file', content }, 'x.md', 'merged', 0, { base, written });
    store.recordHead({ ...row, kind: 'file', content }, 'y.md', 'merged', 0, { base: null, written });
  });
  const sides = (path: string): (string | null)[][] =>
    store.versions
      .of(tree.id, path)
      .map(({ base, written }) => [base, written].map((id) => (id === null ? null : store.content(id).toString())));
  expect(sides('x.md')).toEqual([
    ['base', 'written'],
    [null, null],
  ]);
  expect(sides('y.md')).toEqual([[null, 'written']]);
});

test('a history that moves goes on after what is there', () => {
  for (const text of ['a', 'b']) add('from.md', text);
  for (const text of ['x', 'y', 'z']) add('to.md', text);
  store.write(() => store.moveHistory(tree.id, 'from.md', 'to.md'));
  expect(history('to.md')).toEqual(['5 b', '4 a', '3 z', '2 y', '1 x']);
  expect(history('from.md')).toEqual([]);
  store.write(() => store.moveHistory(tree.id, 'to.md', 'new.md'));
  expect(history('new.md')).toEqual(['5 b', '4 a', '3 z', '2 y', '1 x']);
  store.write(() => store.moveHistory(tree.id, 'none.md', 'new.md'));
  expect(history('new.md')).toHaveLength(5);
});

test('a history that grows by a move keeps 20 besides the newest', () => {
  for (let i = 0; i < 21; i++) add('from.md', `f${i}`);
  for (let i = 0; i < 21; i++) add('to.md', `t${i}`);
  store.write(() => store.moveHistory(tree.id, 'from.md', 'to.md'));
  expect(history('to.md')).toHaveLength(21);
  expect(history('to.md')[0]).toBe('42 f20');
  expect(history('to.md').at(-1)).toBe('22 f0');
});

test('a history that is dropped is gone, others stay', () => {
  add('x.md', 'a');
  add('y.md', 'b');
  store.write(() => store.dropHistory(tree.id, 'x.md'));
  expect(history('x.md')).toEqual([]);
  expect(history('y.md')).toEqual(['1 b']);
});

test('a history is own when there is one save in it at most, by the session', () => {
  expect(store.historyIsOwn(tree.id, 'x.md', 7)).toBe(true);
  add('x.md', 'a', 'saved', 7);
  expect(store.historyIsOwn(tree.id, 'x.md', 7)).toBe(true);
  expect(store.historyIsOwn(tree.id, 'x.md', 8)).toBe(false);
  add('x.md', 'b', 'saved', 7);
  expect(store.historyIsOwn(tree.id, 'x.md', 7)).toBe(false);
});

test('the whole history of a tree, and how much of it there is', () => {
  add('a.md', '1');
  add('b.md', '2', 'conflict');
  add('a.md', '3', 'interrupted');
  expect(store.versions.all(tree.id).map(({ path, number }) => `${path} ${number}`)).toEqual([
    'a.md 2',
    'b.md 1',
    'a.md 1',
  ]);
  expect(Object.fromEntries(store.versions.counts(tree.id))).toMatchObject({
    'a.md': { versions: 2, conflicts: 0, interrupted: 1 },
    'b.md': { versions: 1, conflicts: 1, interrupted: 0 },
  });
  expect(store.versions.all(addTree(store, 'another').id)).toEqual([]);
});
