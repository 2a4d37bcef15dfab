import { expect, test } from 'vitest';
import type { Store } from '../../src/store/store.js';
import { freshFolder, openStore } from './fresh-store.js';

const MOUNT = 7;

/** Applies a request of the kernel, which is not answered yet. */
const apply = (store: Store, request: number): void =>
  store.requests.during(MOUNT, request, () => store.write(() => undefined));

const rows = (store: Store): unknown => store.db.prepare('SELECT count(*) FROM applied').pluck().get();

/** A process that takes the mount over. */
function successor(folder: string): Store {
  const store = openStore(folder);
  store.requests.load(MOUNT);
  return store;
}

test('a request that came again and still waits for its answer is known to yet another process', () => {
  const folder = freshFolder();
  const first = openStore(folder);
  apply(first, 2);
  apply(first, 4);
  const second = successor(folder);
  expect(second.requests.find(MOUNT, 2)).toEqual({});
  second.requests.settle(MOUNT);
  // The slot of the one that nobody sent again is free.
  apply(second, 6);
  expect(rows(second)).toBe(2);
  apply(second, 8);
  const third = successor(folder);
  expect([2, 4, 6, 8].map((request) => third.requests.find(MOUNT, request))).toEqual([{}, undefined, {}, {}]);
  third.requests.answered(MOUNT, 2);
  apply(third, 10);
  expect(rows(third)).toBe(3);
  expect(successor(folder).requests.find(MOUNT, 2)).toBeUndefined();
});
