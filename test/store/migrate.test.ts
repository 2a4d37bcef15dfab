import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, expect, test } from 'vitest';
import { freshFolder, openStore } from './fresh-store.js';

const schema = join(import.meta.dirname, '../../src/store/schema');
let folder: string;
let file: string;

/** A store as the first schema had it, with one file and a version. */
function makeFirst(): void {
  folder = freshFolder();
  file = join(folder, 'store.db');
  writeFileSync(file, '', { mode: 0o600 });
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  const parts = readdirSync(schema).filter((name) => name.startsWith('001'));
  for (const name of parts.sort()) db.exec(readFileSync(join(schema, name), 'utf8'));
  db.exec(`PRAGMA application_id = 0x6d656e64; PRAGMA user_version = 1;
    INSERT INTO project (id, name, created) VALUES (1, 'p', 1);
    INSERT INTO tree (id, project, harness, root) VALUES (10, 1, 'claude', 11);
    INSERT INTO node (id, tree, kind, mtime, atime, ctime) VALUES (11, 10, 'directory', 1, 1, 1);
    INSERT INTO content (id, size, sha256, bytes) VALUES (12, 3, x'aa', CAST('old' AS BLOB));
    INSERT INTO node (id, tree, parent, name, kind, content, size, mtime, atime, ctime)
      VALUES (13, 10, 11, 'a.md', 'file', 12, 3, 1, 1, 1);
    INSERT INTO version (tree, path, number, content, kind, at, session, machine) VALUES (10, 'a.md', 1, 12, 'saved', 1, 0, 0)`);
  db.close();
}

beforeEach(makeFirst);

test('a store of the first schema is brought up to date with what it has, after a backup', () => {
  const store = openStore(folder);
  expect(store.db.pragma('user_version', { simple: true })).toBe(2);
  expect(store.versions.of(10, 'a.md')).toMatchObject([{ number: 1, content: 12, base: null, written: null }]);
  expect(store.content(12).toString()).toBe('old');
  store.write(() =>
    store.addVersion({
      ...{ tree: 10, path: 'a.md', content: 12, kind: 'merged', session: 0 },
      merge: { base: null, written: 12 },
    }),
  );
  expect(store.versions.of(10, 'a.md')[0]).toMatchObject({ number: 2, written: 12 });
  expect(readdirSync(folder).filter((name) => name.includes('backup'))).toEqual(['store.db.schema-1.backup']);
  const backup = `${file}.schema-1.backup`;
  expect(statSync(backup).mode & 0o777).toBe(0o600);
  const old = new Database(backup, { readonly: true });
  expect(old.pragma('user_version', { simple: true })).toBe(1);
  expect(old.prepare('SELECT count(*) FROM version').pluck().get()).toBe(1);
  old.close();
});

test('a backup that is there already is no obstacle', () => {
  writeFileSync(`${file}.schema-1.backup`, 'from before');
  openStore(folder);
  expect(readFileSync(`${file}.schema-1.backup`).subarray(0, 15).toString()).toBe('SQLite format 3');
});
