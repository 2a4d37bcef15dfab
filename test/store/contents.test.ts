import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { MendError } from '../../src/errors.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { addTree, openStore } from './fresh-store.js';

let store: Store;
let tree: TreeRow;

beforeEach(() => {
  store = openStore();
  tree = addTree(store);
});

const put = (text: string, by = store): number => by.write(() => by.putContent(Buffer.from(text)));

describe('contents', () => {
  it('are stored once, whoever stores them', () => {
    const id = put('same');
    expect(put('same')).toBe(id);
    expect(put('same', openStore(store.folder))).toBe(id);
    expect(put('other')).not.toBe(id);
    expect(store.db.prepare('SELECT size, sha256 FROM content WHERE id = ?').raw().get(id)).toEqual([
      4,
      createHash('sha256').update('same').digest(),
    ]);
  });

  it('may be empty', () => {
    const id = put('');
    expect(store.content(id)).toEqual(Buffer.alloc(0));
    expect(openStore(store.folder).content(id)).toEqual(Buffer.alloc(0));
  });

  it('are copied: what happens to the bytes afterwards does not matter', () => {
    const bytes = Buffer.from('before');
    const id = store.write(() => store.putContent(bytes));
    bytes.fill('x');
    expect(store.content(id).toString()).toBe('before');
    expect(openStore(store.folder).content(id).toString()).toBe('before');
  });

  it('that are not there are an error that names no bytes', () => {
    expect(() => store.content(999_999)).toThrow(MendError);
    expect(store.contentIfKept(999_999)).toBe(undefined);
  });
});

describe('the sweep', () => {
  /** Sweeps to the end; tells whether a content is still there for somebody who never saw it. */
  const survives = (id: number, held: readonly number[] = []): boolean => {
    while (store.write(() => store.contents.sweep(store.contents.unreferenced(held), held)) > 0);
    return store.db.prepare('SELECT 1 FROM content WHERE id = ?').get(id) !== undefined;
  };
  const times = { mtime: 1, atime: 1, ctime: 1, shown: 1 };

  it('takes what nothing points to', () => {
    const ids = Array.from({ length: 450 }, (_, i) => put(`unreferenced ${i}`));
    expect(ids.map((id) => survives(id))).toEqual(ids.map(() => false));
    expect(put('unreferenced 7')).not.toBe(ids[7]);
  });

  it('deletes a limited number at a time', () => {
    for (let i = 0; i < 450; i++) put(`unreferenced ${i}`);
    const rounds: number[] = [];
    for (let count = 1; count > 0; ) {
      count = store.write(() => store.contents.sweep(store.contents.unreferenced([]), []));
      rounds.push(count);
    }
    expect(rounds).toEqual([200, 200, 50, 0]);
  });

  const keepers: readonly [title: string, keep: (id: number) => void][] = [
    [
      'a head',
      (content) =>
        store.insertNode({
          id: store.newId(),
          tree: tree.id,
          mount: 0,
          parent: tree.root,
          name: 'a',
          kind: 'file',
          content,
          size: 1,
          ...times,
        }),
    ],
    ['a version', (content) => store.addVersion({ tree: tree.id, path: 'a', content, kind: 'conflict', session: 0 })],
    [
      'what a version was merged against',
      (base) => {
        const [content, written] = [put('merged'), put('written')];
        const merge = { base, written };
        store.addVersion({ tree: tree.id, path: 'a', content, kind: 'merged', session: 0, merge });
      },
    ],
    [
      'what a session wrote before it was merged',
      (written) => {
        const merge = { base: null, written };
        store.addVersion({ tree: tree.id, path: 'a', content: put('merged'), kind: 'merged', session: 0, merge });
      },
    ],
    [
      'the base of a draft',
      (base) =>
        store.insertDraft({ id: store.newId(), tree: tree.id, node: 1, path: 'a', session: 1, base, first: null }),
    ],
    [
      'the first write of a draft',
      (first) =>
        store.insertDraft({ id: store.newId(), tree: tree.id, node: 1, path: 'a', session: 1, base: null, first }),
    ],
    ['what a session was served', (content) => store.saveServed(1, tree.id, 'a', content, 1)],
    ['what an import sent', (sent) => store.bases.put(1, '/f', tree.id, { path: 'a', sent, stored: sent })],
    ['what an import stored', (stored) => store.bases.put(1, '/f', tree.id, { path: 'a', sent: put('sent'), stored })],
  ];

  it.each(keepers)('keeps %s', (_, keep) => {
    const id = put('kept');
    const bystander = put('not kept');
    store.write(() => keep(id));
    expect(survives(id)).toBe(true);
    expect(survives(bystander)).toBe(false);
  });

  it('keeps what open files show', () => {
    const id = put('shown');
    expect(survives(id, [5, id])).toBe(true);
    expect(survives(id)).toBe(false);
  });

  it('takes the contents of versions that were dropped', () => {
    const id = put('old');
    store.write(() => store.addVersion({ tree: tree.id, path: 'a', content: id, kind: 'saved', session: 0 }));
    store.write(() => store.dropHistory(tree.id, 'a'));
    expect(survives(id)).toBe(false);
  });
});
