import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { freshFolder, openStore } from './fresh-store.js';

const schema = join(import.meta.dirname, '../../src/store/schema');
let folder: string;
let file: string;

/** Versions of the schema, oldest first. */
const versions = [...new Set(readdirSync(schema).map((name) => Number(name.slice(0, 3))))].sort((a, b) => a - b);
const newest = Math.max(...versions);

/** A store as an earlier schema had it, with one file, a version and an import. */
function makeOld(version: number): void {
  folder = freshFolder();
  file = join(folder, 'store.db');
  writeFileSync(file, '', { mode: 0o600 });
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  const parts = readdirSync(schema).filter((name) => Number(name.slice(0, 3)) <= version);
  for (const name of parts.sort()) db.exec(readFileSync(join(schema, name), 'utf8'));
  db.exec(`PRAGMA application_id = 0x6d656e64; PRAGMA user_version = ${version};
    INSERT INTO project (id, name, created) VALUES (1, 'p', 1);
    INSERT INTO tree (id, project, harness, root) VALUES (10, 1, 'claude', 11);
    INSERT INTO node (id, tree, kind, mtime, atime, ctime) VALUES (11, 10, 'directory', 1, 1, 1);
    INSERT INTO content (id, size, sha256, bytes) VALUES (12, 3, x'aa', CAST('old' AS BLOB));
    INSERT INTO node (id, tree, parent, name, kind, content, size, mtime, atime, ctime)
      VALUES (13, 10, 11, 'a.md', 'file', 12, 3, 1, 1, 1);
    INSERT INTO version (tree, path, number, content, kind, at, session, machine) VALUES (10, 'a.md', 1, 12, 'saved', 1, 0, 0);
    INSERT INTO import_base (machine, folder, tree, path, sent, stored) VALUES (1, '/f', 10, 'a.md', 12, 12)`);
  db.close();
}

test.each(versions.filter((version) => version < newest))(
  'a store of schema %i is brought up to date with what it has, after a backup',
  (version) => {
    makeOld(version);
    const store = openStore(folder);
    expect(store.db.pragma('user_version', { simple: true })).toBe(newest);
    expect(store.bases.get(1, '/f', 10, 'a.md')).toEqual({ path: 'a.md', sent: 12, stored: 12 });
    expect(store.disputes.get(1, '/f', 10, 'a.md')).toBe(undefined);
    expect(store.versions.of(10, 'a.md')).toMatchObject([{ number: 1, content: 12, base: null, written: null }]);
    expect(store.content(12).toString()).toBe('old');
    store.write(() =>
      store.addVersion({
        ...{ tree: 10, path: 'a.md', content: 12, kind: 'merged', session: 0 },
        merge: { base: null, written: 12 },
      }),
    );
    expect(store.versions.of(10, 'a.md')[0]).toMatchObject({ number: 2, written: 12 });
    expect(readdirSync(folder).filter((name) => name.includes('backup'))).toEqual([
      `store.db.schema-${version}.backup`,
    ]);
    const backup = `${file}.schema-${version}.backup`;
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    const old = new Database(backup, { readonly: true });
    expect(old.pragma('user_version', { simple: true })).toBe(version);
    expect(old.prepare('SELECT count(*) FROM version').pluck().get()).toBe(1);
    old.close();
  },
);

test('a backup that is there already is no obstacle', () => {
  makeOld(1);
  writeFileSync(`${file}.schema-1.backup`, 'from before');
  openStore(folder);
  expect(readFileSync(`${file}.schema-1.backup`).subarray(0, 15).toString()).toBe('SQLite format 3');
});
