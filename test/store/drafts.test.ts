import { beforeEach, describe, expect, it, test } from 'vitest';
import type { DraftRow } from '../../src/ports/store.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { randomSource } from '../fuse/annotated.js';
import { addTree, openStore } from './fresh-store.js';

let store: Store;
let tree: TreeRow;

beforeEach(() => {
  store = openStore(undefined, 'daemon-1');
  tree = addTree(store);
});

const row = (id: number, more: Partial<DraftRow> = {}): DraftRow => ({
  ...{ id, tree: tree.id, node: 5, path: 'a.md', session: 9, base: null, first: null },
  ...more,
});

/** Stores writes, `[position, text]`, or `[length, null]` for a truncation. */
function append(draft: number, ...writes: readonly (readonly [number, string | null])[]): void {
  store.write(() => {
    for (const [i, [position, text]] of writes.entries()) {
      store.appendDraft(draft, i, position, text === null ? null : Buffer.from(text));
    }
  });
}

describe('playing writes', () => {
  it.each<[title: string, base: string, writes: [number, string | null][], result: string]>([
    ['none', 'base', [], 'base'],
    [
      'over, in order',
      'base',
      [
        [0, 'xx'],
        [1, 'yy'],
      ],
      'xyye',
    ],
    [
      'at the end',
      'base',
      [
        [4, '+'],
        [5, '+'],
      ],
      'base++',
    ],
    ['beyond the end', 'b', [[3, 'x']], 'b\0\0x'],
    [
      'after a truncation',
      'base',
      [
        [0, null],
        [0, 'new'],
      ],
      'new',
    ],
    ['shorter', 'base', [[2, null]], 'ba'],
    ['longer', 'base', [[6, null]], 'base\0\0'],
    [
      'cut and grown: what was cut stays away',
      'base',
      [
        [1, null],
        [4, null],
      ],
      'b\0\0\0',
    ],
    ['of nothing', '', [], ''],
  ])('%s', (_, base, writes, result) => {
    const id = store.newId();
    append(id, ...writes);
    expect(store.drafts.replay(id, Buffer.from(base)).toString()).toBe(result);
  });

  it('keeps to the order of the numbers, however they were stored', () => {
    const id = store.newId();
    store.write(() => {
      for (const index of [2, 0, 300, 1]) store.appendDraft(id, index, 0, Buffer.from(String(index % 10)));
    });
    expect(store.drafts.replay(id, Buffer.from('x')).toString()).toBe('0');
    store.write(() => store.appendDraft(id, 4095, 0, Buffer.from('z')));
    expect(store.drafts.replay(id, Buffer.from('x')).toString()).toBe('z');
  });

  it('leaves the bytes it starts from as they are', () => {
    const id = store.newId();
    append(id, [0, 'XX']);
    const base = Buffer.from('base');
    store.drafts.replay(id, base);
    expect(base.toString()).toBe('base');
  });

  it('gives what a file would hold, for any writes', () => {
    const seed = Math.floor(Date.now() / 86_400_000);
    const random = randomSource(seed);
    for (let round = 0; round < 100; round++) {
      const id = store.newId();
      let model = Buffer.alloc(random(50), 'b');
      const base = Buffer.from(model);
      store.write(() => {
        for (let index = 0; index < 20; index++) {
          const position = random(80);
          const bytes = random(4) === 0 ? null : Buffer.alloc(1 + random(20), 65 + index);
          const size = bytes ? Math.max(model.length, position + bytes.length) : position;
          model = Buffer.concat([model, Buffer.alloc(100)]).subarray(0, size);
          bytes?.copy(model, position);
          model = Buffer.from(model);
          store.appendDraft(id, index, position, bytes);
        }
      });
      expect(store.drafts.replay(id, base).equals(model), `round ${round}, seed ${seed}`).toBe(true);
    }
  });
});

test('neighbouring drafts do not mix', () => {
  const [first, second] = [5000, 5001];
  append(first, [0, 'first']);
  append(second, [0, 'second']);
  store.write(() => store.appendDraft(first, 2 ** 20 - 1, 0, Buffer.from('F')));
  expect(store.drafts.replay(first, Buffer.alloc(0)).toString()).toBe('First');
  expect(store.drafts.replay(second, Buffer.alloc(0)).toString()).toBe('second');
  store.write(() => store.deleteDraft(first, 1));
  expect(store.drafts.replay(first, Buffer.alloc(0)).toString()).toBe('');
  expect(store.drafts.replay(second, Buffer.alloc(0)).toString()).toBe('second');
});

test('a draft that starts again forgets its writes', () => {
  const id = store.newId();
  store.write(() => store.insertDraft(row(id)));
  append(id, [0, 'old']);
  const first = store.write(() => store.putContent(Buffer.from('whole')));
  store.write(() => store.restartDraft(id, first));
  expect(store.drafts.ofOwner('daemon-1')).toEqual([row(id, { first })]);
  expect(store.drafts.replay(id, store.content(first)).toString()).toBe('whole');
});

test('drafts belong to the daemon that wrote them', () => {
  const other = openStore(store.folder, 'daemon-2');
  const rows = [row(100), row(101, { base: 3, path: 'd/b.md' })];
  store.write(() => {
    for (const one of rows) store.insertDraft(one);
  });
  other.write(() => other.insertDraft(row(102)));
  expect(store.drafts.owners().sort()).toEqual(['daemon-1', 'daemon-2']);
  expect(other.drafts.ofOwner('daemon-1')).toEqual(rows);
  expect(store.drafts.ofOwner('daemon-2')).toEqual([row(102)]);
  store.write(() => {
    for (const one of rows) store.deleteDraft(one.id, 0);
  });
  expect(store.drafts.owners()).toEqual(['daemon-2']);
});
