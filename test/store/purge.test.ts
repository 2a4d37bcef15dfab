import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, test } from 'vitest';
import { MemoryFiles } from '../../src/store/memory-files.js';
import { purge } from '../../src/store/purge.js';
import { needsScrub } from '../../src/store/purge-rows.js';
import { dropBackups, scrub } from '../../src/store/scrub.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { filesWith } from '../cli/store-files.js';
import { addTree, openStore } from './fresh-store.js';

let store: Store;
let tree: TreeRow;
let memory: MemoryFiles;

beforeEach(() => {
  store = openStore();
  tree = addTree(store);
  memory = new MemoryFiles(store, tree);
});

const put = (path: string, text: string): number =>
  store.write(() => memory.put(path, Buffer.from(text), { kind: 'saved', session: 0 }));
const content = (text: string): number => store.write(() => store.putContent(Buffer.from(text)));
const isKept = (id: number): boolean => store.db.prepare('SELECT 1 FROM content WHERE id = ?').get(id) !== undefined;
const nobody = (): boolean => false;
const purgeAll = (path: string) => purge(store, { tree, path }, nobody);

/** A draft of a path with a base, the bytes of its first write, and one more write. */
function draft(path: string, base: number | null, first: number | null, owner = store): number {
  return owner.write(() => {
    const id = owner.newId();
    owner.insertDraft({ id, tree: tree.id, node: memory.find(path)?.row.id ?? 1, path, session: 1, base, first });
    owner.appendDraft(id, 0, 3, Buffer.from('xyzzy in a draft'));
    return id;
  });
}

describe('a purged file', () => {
  it('takes every content along that its history, its sessions, drafts and imports name', () => {
    put('a.md', 'one');
    const [base, written, served, sent, stored, first] = [
      ...['base', 'written', 'served', 'sent', 'stored', 'first'].map(content),
    ];
    const ids = [base, written, served, sent, stored, first].map((id) => id ?? 0);
    store.write(() => {
      const merge = { base: ids[0] ?? 0, written: ids[1] ?? 0 };
      const merged = { tree: tree.id, path: 'a.md', content: store.putContent(Buffer.from('merged')) };
      store.addVersion({ ...merged, kind: 'merged', session: 0, merge });
      store.saveServed(1, tree.id, 'a.md', ids[2] ?? 0, 1);
      store.bases.put(7, '/f', tree.id, { path: 'a.md', sent: ids[3] ?? 0, stored: ids[4] ?? 0 });
    });
    draft('a.md', null, ids[5] ?? 0);
    const loose = content('earlier bytes that nothing points to any more');
    expect(purgeAll('a.md')).toMatchObject({ versions: [2, 1], keepers: [] });
    expect([...ids, loose].filter(isKept)).toEqual([]);
    expect(store.db.prepare('SELECT count(*) FROM content').pluck().get()).toBe(0);
    for (const table of ['version', 'draft', 'draft_write', 'served'])
      expect(store.db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(), table).toBe(0);
    expect(memory.find('a.md')).toBe(undefined);
  });

  it('leaves what others have, and says who', () => {
    const shared = put('a.md', 'shared');
    const base = put('a.md', 'base of another');
    put('b.md', 'shared');
    put('old.md', 'shared');
    put('old.md', 'new');
    draft('c.md', base, null);
    const other = addTree(store, 'other');
    store.write(() => new MemoryFiles(store, other).put('x.md', Buffer.from('shared'), { kind: 'saved', session: 0 }));
    const result = purgeAll('a.md');
    expect(result).toMatchObject({ versions: [2, 1] });
    expect(typeof result === 'string' ? [] : result.keepers).toEqual(
      expect.arrayContaining([
        { tree: tree.id, path: 'b.md', as: 'head' },
        { tree: tree.id, path: 'b.md', as: 'version' },
        { tree: tree.id, path: 'old.md', as: 'version' },
        { tree: other.id, path: 'x.md', as: 'head' },
        { tree: tree.id, path: 'c.md', as: 'draft' },
      ]),
    );
    expect([shared, base].every(isKept)).toBe(true);
    expect(memory.find('b.md')?.content).toBe(shared);
  });

  it('of no bytes is gone without a word about other empty files', () => {
    put('a.md', '');
    put('b.md', '');
    expect(purgeAll('a.md')).toEqual({ versions: [1], keepers: [], sha256: [] });
    expect(memory.find('b.md')).toBeDefined();
  });

  it('is refused while a daemon that lives has writes to it, and changes nothing then', () => {
    const id = put('a.md', 'one');
    draft('a.md', id, null, openStore(store.folder, 'alive'));
    const isAlive = (owner: string): boolean => owner === 'alive';
    expect(purge(store, { tree, path: 'a.md' }, isAlive)).toBe('is being written');
    expect(isKept(id)).toBe(true);
    expect(needsScrub(store.db)).toBe(false);
    expect(purge(store, { tree, path: 'a.md' }, nobody)).toMatchObject({ versions: [1] });
    expect(isKept(id)).toBe(false);
  });

  it('that is not there, or never was, is refused', () => {
    expect(purgeAll('a.md')).toBe('no such file');
    put('d/a.md', 'one');
    expect(purgeAll('d')).toBe('no such file');
  });
});

describe('a purged version', () => {
  it('takes along every version of the same bytes, and its part in merges', () => {
    const [one, two] = [put('a.md', 'one'), put('a.md', 'two')];
    put('a.md', 'one');
    store.write(() => {
      const merged = store.putContent(Buffer.from('merged'));
      const row = { tree: tree.id, path: 'a.md', content: merged, kind: 'merged', session: 0 } as const;
      store.addVersion({ ...row, merge: { base: one, written: two } });
    });
    put('a.md', 'now');
    expect(purge(store, { tree, path: 'a.md', version: 5 }, nobody)).toBe('is the head');
    expect(purge(store, { tree, path: 'a.md', version: 6 }, nobody)).toBe('no such version');
    expect(purge(store, { tree, path: 'a.md', version: 1 }, nobody)).toMatchObject({ versions: [3, 1], keepers: [] });
    expect(isKept(one)).toBe(false);
    expect(store.versions.of(tree.id, 'a.md')).toMatchObject([
      { number: 5 },
      { number: 4, base: null, written: null },
      { number: 2, content: two },
    ]);
  });

  it('that unsaved writes start from is refused', () => {
    const one = put('a.md', 'one');
    put('a.md', 'two');
    draft('a.md', one, null);
    expect(purge(store, { tree, path: 'a.md', version: 1 }, nobody)).toBe('is being written');
    expect(isKept(one)).toBe(true);
  });
});

describe('what is known of a purged content', () => {
  it('is size and hash, while an import base names it; who saves the same bytes has the same content again', () => {
    const id = put('a.md', 'sent once');
    store.write(() => store.bases.put(7, '/f', tree.id, { path: 'a.md', sent: id, stored: id }));
    const digest = store.contents.digest(id);
    purgeAll('a.md');
    expect(() => store.content(id)).toThrow('is not in the store');
    expect(store.contentIfKept(id)).toBe(undefined);
    expect(store.contents.digest(id)).toEqual(digest);
    expect(store.contents.idOf(Buffer.from('sent once'))).toBe(id);
    expect(store.contents.idOf(Buffer.from('never sent'))).toBe(undefined);
    expect(content('sent once')).toBe(id);
    expect(store.content(id).toString()).toBe('sent once');
    expect(store.contents.digest(id)).toEqual(digest);
  });

  it('is swept with the last import base', () => {
    const id = put('a.md', 'sent once');
    store.write(() => store.bases.put(7, '/f', tree.id, { path: 'a.md', sent: id, stored: id }));
    purgeAll('a.md');
    store.write(() => store.contents.sweep([], []));
    expect(store.contents.digest(id)).toBeDefined();
    store.write(() => {
      store.bases.delete(7, '/f', tree.id, 'a.md');
      store.contents.sweep([], []);
    });
    expect(store.contents.digest(id)).toBe(undefined);
  });
});

test('another connection forgets the bytes with the next change it follows', () => {
  const id = put('a.md', 'cached');
  const other = openStore(store.folder, 'other');
  expect(other.content(id).toString()).toBe('cached');
  purgeAll('a.md');
  expect(other.content(id).toString()).toBe('cached');
  other.catchUp();
  expect(() => other.content(id)).toThrow('is not in the store');
});

describe('scrub', () => {
  it('leaves no trace of anything that was deleted in the files of the store', () => {
    // Rows of many lengths that come and go, as those of a busy store do: SQLite moves them between pages.
    let seed = 1;
    const random = (): number => {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
      return seed / 0x7fffffff;
    };
    const live: string[] = [];
    for (let turn = 0; turn < 60; turn++) {
      store.write(() => {
        for (let i = 0; i < 40; i++) {
          const name = `xyzzy-${turn}-${i}`;
          const length = 30 + Math.floor(random() * random() * 2500);
          memory.put(name, Buffer.alloc(length, `${name}/`), { kind: 'saved', session: 0 });
          live.push(name);
        }
        for (let i = 0; i < 25; i++) {
          const [name = ''] = live.splice(Math.floor(random() * live.length), 1);
          const file = memory.find(name);
          if (file) store.removeHead({ ...file.row, content: null }, name, 0);
          store.dropHistory(tree.id, name);
        }
        store.db.prepare('DELETE FROM node WHERE parent IS NULL AND kind = ?').run('file');
        store.contents.sweep(store.contents.unreferenced([]), []);
      });
    }
    for (const name of live) expect(purgeAll(name)).toMatchObject({ keepers: [] });
    expect(needsScrub(store.db)).toBe(true);
    expect(filesWith(store.folder, 'xyzzy-')).not.toEqual([]);
    expect(scrub(store)).toBe(true);
    expect(needsScrub(store.db)).toBe(false);
    store.db.pragma('wal_checkpoint(TRUNCATE)');
    expect(filesWith(store.folder, 'xyzzy-')).toEqual([]);
    expect(store.db.pragma('integrity_check', { simple: true })).toBe('ok');
  }, 60_000);

  it('is not complete while somebody reads, and can be done again', () => {
    put('a.md', 'xyzzy');
    const reader = openStore(store.folder, 'reader');
    reader.db.exec('BEGIN; SELECT * FROM content');
    reader.db.prepare('SELECT count(*) FROM content').get();
    purgeAll('a.md');
    store.db.pragma('busy_timeout = 100');
    expect(scrub(store)).toBe(false);
    expect(needsScrub(store.db)).toBe(true);
    expect(filesWith(store.folder, 'xyzzy')).not.toEqual([]);
    reader.db.exec('COMMIT');
    expect(scrub(store)).toBe(true);
    expect(filesWith(store.folder, 'xyzzy')).toEqual([]);
  });
});

test('of backups, those go that have the file, or bytes that the store has no more, or cannot be read', () => {
  const backUp = (number: number): void => {
    store.db.prepare('VACUUM INTO ?').run(join(store.folder, `store.db.schema-${number}.backup`));
  };
  put('other.md', 'other');
  backUp(0);
  put('elsewhere.md', 'the bytes');
  backUp(1);
  store.write(() => memory.remove(memory.find('elsewhere.md') ?? fail(), 0));
  purgeAll('elsewhere.md');
  put('a.md', 'the file');
  backUp(2);
  writeFileSync(join(store.folder, 'store.db.schema-3.backup'), 'no database');
  writeFileSync(join(store.folder, 'store.db.schema-4.mine'), 'not a backup of mend');
  const digests = ['the bytes', 'other'].map((text) => hash('sha256', text, 'buffer'));
  const file = { tree: tree.id, path: 'a.md', threads: [] };
  expect(dropBackups(store, { ...file, sha256: digests }).deleted.map(({ name }) => name)).toEqual([
    'store.db.schema-1.backup',
    'store.db.schema-2.backup',
    'store.db.schema-3.backup',
  ]);
  expect(filesWith(store.folder, 'not a backup')).toEqual(['store.db.schema-4.mine']);
});

function fail(): never {
  throw new Error('not found');
}
