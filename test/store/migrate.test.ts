import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { checkDatabase } from '../../src/store/check/check-database.js';
import { programFolder } from '../support/program.js';
import { isRoot } from '../support/users.js';
import { freshFolder, openStore } from './fresh-store.js';
import { frozen } from './frozen.js';

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

test('processes that open an old store at once leave it whole, and a backup of what it was', async () => {
  thaw(freshFolder());
  const script = `const { openDatabase } = await import(process.argv[1]);
    openDatabase(process.argv[2], { create: false }).close();`;
  const module = join(programFolder(), 'dist/store/open-database.js');
  const run = promisify(execFile);
  await Promise.all(
    Array.from({ length: 6 }, () => run(process.execPath, ['--input-type=module', '-e', script, module, folder])),
  );
  const store = openStore(folder);
  expect(store.db.pragma('user_version', { simple: true })).toBe(newest);
  expect(checkDatabase(store.db)).toEqual([]);
  expect(readdirSync(folder).filter((name) => name.includes('backup'))).toEqual(['store.db.schema-1.backup']);
  const backup = new Database(`${file}.schema-1.backup`, { readonly: true });
  expect(backup.pragma('user_version', { simple: true })).toBe(1);
  expect(checkDatabase(backup)).toEqual([]);
  backup.close();
});

test('a damaged store is not brought up to date', () => {
  thaw(freshFolder());
  const bytes = readFileSync(file);
  // An index that lacks an entry is found by a full check alone.
  const root = new Database(file, { readonly: true });
  const page = root.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'project_alias_project'").pluck().get();
  root.close();
  for (const name of readdirSync(folder)) if (name !== 'store.db') rmSync(join(folder, name));
  const at = (Number(page) - 1) * 4096 + 3;
  bytes.writeUInt16BE(bytes.readUInt16BE(at) - 1, at);
  writeFileSync(file, bytes);
  expect(() => openStore(folder)).toThrow(/is damaged \([^)]+\): "mend store check" looks closer/);
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect(readdirSync(folder).filter((name) => name.includes('backup'))).toEqual([]);
});

test.runIf(isRoot)('without room for the backup nothing is brought up to date', () => {
  const disk = freshFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=700', 'mend-small', disk]);
  try {
    thaw(disk);
    const bytes = readFileSync(file);
    writeFileSync(join(disk, 'filler'), Buffer.alloc(64 * 1024));
    expect(() => openStore(folder)).toThrow(/^the disk with the store \S+ is full: make room and try again$/);
    expect(readFileSync(file).equals(bytes)).toBe(true);
    expect(readdirSync(disk).sort()).toEqual(['filler', 'store.db']);
  } finally {
    execFileSync('umount', ['--lazy', disk]);
  }
});

/** Puts a frozen store of the first schema into a folder. */
function thaw(into: string): void {
  folder = into;
  file = join(folder, 'store.db');
  copyFileSync(frozen(1), file);
  chmodSync(file, 0o600);
}
