import { beforeEach, describe, expect, it, test } from 'vitest';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { addTree, freshFolder, openStore } from './fresh-store.js';

let store: Store;
let tree: TreeRow;

beforeEach(() => {
  store = openStore();
  tree = addTree(store);
});

const session = { key: 'boot/session/1/2', name: 'session 1' };

describe('a write that throws', () => {
  it('stores nothing and says what was thrown', () => {
    const counts = (): unknown =>
      ['node', 'content', 'version', 'session', 'change', 'draft', 'draft_write', 'local_block', 'served'].map(
        (table) => store.db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(),
      );
    const before = counts();
    const failure = new Error('on purpose');
    const attempt = (): void =>
      store.write(() => {
        const content = store.putContent(Buffer.from('text'));
        const id = store.newId();
        const times = { mtime: 1, atime: 1, ctime: 1, shown: 1 };
        const row = {
          id,
          tree: tree.id,
          mount: 0,
          parent: tree.root,
          name: 'a',
          kind: 'file',
          content,
          size: 4,
          ...times,
        } as const;
        store.insertNode(row);
        store.saveHead(row, 'a', 'saved', store.sessionRow(session));
        store.appendDraft(store.newId(), 0, 0, Buffer.from('x'));
        store.writeLocal(id, 0, Buffer.from('x'));
        store.saveServed(store.sessionRow(session), tree.id, 'a', content, store.now);
        throw failure;
      });
    expect(attempt).toThrow(failure);
    expect(counts()).toEqual(before);
  });

  it('forgets contents, so that the same bytes are stored anew', () => {
    const bytes = Buffer.from('only once thrown away');
    let lost = 0;
    expect(() =>
      store.write(() => {
        lost = store.putContent(bytes);
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(() => store.content(lost)).toThrow(/is not in the store/);
    const id = store.write(() => store.putContent(bytes));
    expect(store.content(id)).toEqual(bytes);
    expect(openStore(store.folder).content(id)).toEqual(bytes);
  });

  it('forgets sessions, so that the next use makes the row', () => {
    expect(() =>
      store.write(() => {
        store.sessionRow(session);
        throw new Error('no');
      }),
    ).toThrow('no');
    const row = store.write(() => store.sessionRow(session));
    expect(store.db.prepare('SELECT key FROM session WHERE id = ?').pluck().get(row)).toBe(session.key);
  });

  it('gives back its place in the feed', () => {
    const { seen } = store.feed;
    expect(() =>
      store.write(() => {
        store.recordChange(tree.id, tree.root);
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(store.feed.seen).toBe(seen);
    const other = openStore(store.folder);
    other.write(() => other.recordChange(tree.id, 77));
    const told: number[] = [];
    store.follow = (changes) => told.push(...(changes ?? []).map((change) => change.node));
    store.catchUp();
    expect(told).toEqual([77]);
  });

  it('does not spoil the write after it', () => {
    expect(() => store.write(() => store.write(() => JSON.parse('{')))).toThrow(SyntaxError);
    expect(store.db.inTransaction).toBe(false);
    expect(store.write(() => 5)).toBe(5);
  });
});

test('a nested write is part of the outermost', () => {
  expect(() =>
    store.write(() => {
      store.write(() => store.recordChange(tree.id, 1));
      throw new Error('outer');
    }),
  ).toThrow('outer');
  expect(store.feed.last()).toBe(0);
});

describe('ids', () => {
  it('are never given twice, between connections and after a failed write', () => {
    const other = openStore(store.folder);
    const ids: number[] = [];
    for (let i = 0; i < 10_000; i++) ids.push((i % 3 === 0 ? other : store).newId());
    expect(new Set(ids).size).toBe(ids.length);
    const third = openStore(freshFolder());
    expect(third.newId()).toBe(1024);
  });

  it('that a failed write used are not mixed with those of others', () => {
    const other = openStore(store.folder);
    const used = new Set<number>([tree.id, tree.root]);
    for (let round = 0; round < 20; round++) {
      expect(() =>
        store.write(() => {
          // More than a block, so that one is taken within the transaction.
          for (let i = 0; i < 5000; i++) store.newId();
          throw new Error('no');
        }),
      ).toThrow('no');
      for (const from of [store, other]) {
        const id = from.newId();
        expect(used.has(id), `id ${id}`).toBe(false);
        used.add(id);
      }
    }
  });
});

describe('the machine', () => {
  const identity = { machineId: 'b'.repeat(32), name: 'before' };

  it('keeps its row and takes its new name', () => {
    const first = openStore(store.folder, 'x', identity);
    const second = openStore(store.folder, 'x', { ...identity, name: 'after' });
    expect(second.machine).toBe(first.machine);
    expect(second.machine).not.toBe(store.machine);
    expect(store.db.prepare('SELECT name FROM machine WHERE id = ?').pluck().get(first.machine)).toBe('after');
  });
});
