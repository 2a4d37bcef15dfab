import { beforeEach, expect, test } from 'vitest';
import { type Change, PURGED } from '../../src/store/feed.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { addTree, freshFolder, openStore } from './fresh-store.js';

let store: Store;
let other: Store;
let tree: TreeRow;
let told: number[];

beforeEach(() => {
  const folder = freshFolder();
  other = openStore(folder, 'other');
  tree = addTree(other);
  store = openStore(folder, 'one');
  told = [];
  store.follow = (changes: Change[] | undefined) => told.push(...(changes ?? []).map((change) => change.node));
});

const change = (by: Store, ...nodes: number[]): void =>
  by.write(() => {
    for (const node of nodes) by.recordChange(tree.id, node);
  });

test('changes of others are told once, in order, when asked', () => {
  change(other, 1, 2);
  change(other, 3);
  expect(told).toEqual([]);
  store.catchUp();
  expect(told).toEqual([1, 2, 3]);
  store.catchUp();
  expect(told).toEqual([1, 2, 3]);
});

test('own changes are not told', () => {
  change(store, 1);
  store.catchUp();
  expect(told).toEqual([]);
});

test('a store that is opened later is not told what was before', () => {
  change(other, 1);
  const late = openStore(store.folder);
  late.follow = (changes) => told.push(...(changes ?? []).map((one) => one.node));
  late.catchUp();
  expect(told).toEqual([]);
});

test('a write is told the changes of others before its work begins', () => {
  change(other, 1);
  const order: string[] = [];
  store.follow = (changes) => order.push(...(changes ?? []).map((one) => `told ${one.node}`));
  store.write(() => {
    order.push('work');
    store.recordChange(tree.id, 2);
  });
  store.catchUp();
  expect(order).toEqual(['told 1', 'work']);
  other.follow = (changes) => order.push(...(changes ?? []).map((one) => `other told ${one.node}`));
  other.catchUp();
  expect(order.at(-1)).toBe('other told 2');
});

test('following may itself write', () => {
  store.follow = (changes) => {
    told.push(...(changes ?? []).map((one) => one.node));
    if (told.length < 3) store.write(() => store.recordChange(tree.id, 100));
  };
  const seen: number[] = [];
  other.follow = (changes) => seen.push(...(changes ?? []).map((one) => one.node));
  change(other, 1);
  store.catchUp();
  change(other, 2);
  store.write(() => {});
  expect(told).toEqual([1, 2]);
  other.catchUp();
  expect(seen).toEqual([100, 100]);
});

test('changes are told again when following them failed', () => {
  change(other, 1, 2);
  store.follow = () => {
    throw new Error('not now');
  };
  expect(() => store.write(() => {})).toThrow('not now');
  store.follow = (changes) => told.push(...(changes ?? []).map((one) => one.node));
  store.write(() => {});
  expect(told).toEqual([1, 2]);
});

test('a failed write does not take back what was told', () => {
  change(other, 1);
  const fail = (): void => {
    throw new Error('no');
  };
  expect(() => store.write(fail)).toThrow('no');
  expect(() => store.write(fail)).toThrow('no');
  expect(told).toEqual([1]);
});

test('inside a write there is nothing to catch up', () => {
  change(other, 1);
  store.write(() => {
    store.catchUp();
    expect(told).toEqual([1]);
  });
});

test('pruning keeps the newest rows and their numbers', () => {
  const insert = other.db.prepare('INSERT INTO change (tree, node) VALUES (?, ?)');
  other.write(() => {
    for (let i = 0; i < 10_050; i++) insert.run(tree.id, i);
  });
  const last = other.feed.last();
  other.write(() => other.feed.prune());
  expect(other.db.prepare('SELECT count(*), max(seq) FROM change').raw().get()).toEqual([10_000, last]);
  store.catchUp();
  change(other, 5);
  expect(other.feed.last()).toBe(last + 1);
});

test('a follower that lags behind what was pruned is told that anything may have changed', () => {
  const told: unknown[] = [];
  other.catchUp();
  other.follow = (changes) => told.push(changes);
  store.write(() => {
    for (let i = 0; i < 10_050; i++) store.recordChange(1, i);
    store.feed.prune();
  });
  other.catchUp();
  expect(told).toEqual([undefined]);
  store.write(() => store.recordChange(1, 7));
  other.catchUp();
  expect(told.at(-1)).toMatchObject([{ tree: 1, node: 7 }]);
});

test('names that memory left are known, with the node, until something is purged or pruned', () => {
  const [folder, node] = [store.newId(), store.newId()];
  const common = { tree: tree.id, content: null, size: 0, mtime: 1, atime: 1, ctime: 1, shown: 1 };
  const file = { ...common, id: node, mount: 0, parent: tree.root, name: 'a.md', kind: 'file' } as const;
  const directory = { ...common, id: folder, mount: 0, parent: tree.root, name: 'notes', kind: 'directory' } as const;
  store.write(() => {
    for (const row of [directory, file]) store.insertNode(row);
    store.recordChange(tree.id, node);
  });
  const before = store.feed.last();
  const move = (row: Partial<typeof common> & { parent: number | null; name: string | null; mount?: number }): void =>
    store.write(() => {
      store.moveNode({ ...file, ...row });
      store.recordChange(tree.id, node);
    });
  move({ parent: tree.root, name: 'a.md', size: 3 });
  expect(store.feed.vacatedSince(before)).toEqual([]);
  move({ parent: folder, name: 'b.md' });
  const between = store.feed.last();
  move({ parent: null, name: null });
  expect(store.feed.vacatedSince(before)).toEqual([
    { node, parent: tree.root, name: 'a.md' },
    { node, parent: folder, name: 'b.md' },
  ]);
  expect(store.feed.vacatedSince(between)).toEqual([{ node, parent: folder, name: 'b.md' }]);
  expect(store.feed.vacatedSince(store.feed.last())).toEqual([]);
  // A local name is known to the kernel of its own mount alone, which left it itself.
  move({ parent: folder, name: 'b.md~', mount: 7 });
  move({ parent: folder, name: 'c.md~', mount: 7 });
  expect(store.feed.vacatedSince(between)?.map(({ name }) => name)).toEqual(['b.md']);
  store.write(() => {
    store.deleteNode(folder);
    store.recordChange(tree.id, folder);
  });
  expect(store.feed.vacatedSince(between)?.map(({ name }) => name)).toEqual(['b.md', 'notes']);
  store.write(() => {
    store.feed.forgetVacated();
    store.recordChange(tree.id, PURGED);
  });
  expect(store.feed.vacatedSince(between)).toBeUndefined();
  const later = store.feed.last();
  store.write(() => {
    for (let i = 0; i < 10_050; i++) store.recordChange(tree.id, 1);
    store.feed.prune();
  });
  expect(store.feed.vacatedSince(later)).toBeUndefined();
  expect(store.feed.vacatedSince(store.feed.last())).toEqual([]);
});
