import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, it, test } from 'vitest';
import { MendError } from '../../src/errors.js';
import { type OpenOptions, openDatabase } from '../../src/store/open-database.js';
import { Store } from '../../src/store/store.js';
import { isRoot } from '../support/users.js';
import { addTree, freshFolder, openStore } from './fresh-store.js';

const DAMAGED =
  /^the store \S+ is damaged \([^)]+\): "mend store check" looks closer, and "mend store restore" puts a backup in its place; it was not changed$/;
let folder: string;
let file: string;

beforeEach(() => {
  folder = freshFolder();
  file = join(folder, 'store.db');
});

/** A complete store with some memory in it, closed again. */
function makeStore(): void {
  const store = new Store(folder, { create: true, owner: 'test', machine: () => ({ machineId: 'm', name: 'host' }) });
  const tree = addTree(store);
  store.write(() => {
    for (let i = 0; i < 40; i++) {
      const content = store.putContent(Buffer.alloc(5000, i));
      store.addVersion({ tree: tree.id, path: `${i}.md`, content, kind: 'saved', session: 0 });
    }
  });
  store.close();
}

/** Names, modes, owners and bytes (hashed) of what is in the folder, but for the index of the log, which is no data. */
function picture(): unknown {
  const own = statSync(folder);
  const names = readdirSync(folder).filter((name) => !name.endsWith('-shm'));
  return [
    [own.mode, own.uid],
    ...names.sort().map((name) => {
      const { mode, uid, size } = statSync(join(folder, name));
      return [
        name,
        mode,
        uid,
        size,
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ];
    }),
  ];
}

/** Opening must be refused with a sentence, however it is opened, and change nothing. */
function expectRefusal(
  sentence: RegExp,
  modes: readonly OpenOptions[] = [
    { create: true, check: 'quick' },
    { create: true, check: 'full' },
    { create: true },
    { create: false },
  ],
): void {
  const before = picture();
  for (const options of modes) {
    let thrown: unknown;
    try {
      openDatabase(folder, options).close();
    } catch (error) {
      thrown = error;
    }
    expect(thrown, JSON.stringify(options)).toBeInstanceOf(MendError);
    expect((thrown as MendError).message).toMatch(sentence);
    expect((thrown as MendError).message).not.toContain('\n');
    expect(picture()).toEqual(before);
  }
}

describe('another database', () => {
  it('of a newer schema', () => {
    makeStore();
    const db = new Database(file);
    db.pragma('user_version = 99');
    db.close();
    expectRefusal(/made by a newer mend \(schema 99, this one knows \d+\): upgrade mend$/);
  });

  it('of a newer schema, left behind with its log', () => {
    const store = openStore(freshFolder());
    addTree(store);
    store.db.pragma('user_version = 99');
    for (const name of ['store.db', 'store.db-wal']) cpSync(join(store.folder, name), join(folder, name));
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    expectRefusal(/made by a newer mend/);
  });

  it('of another program', () => {
    const db = new Database(file);
    db.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)');
    db.close();
    chmodSync(file, 0o600);
    expectRefusal(/is not a mend store: move it away or set MEND_STORE_DIR$/);
  });

  it('of another program, without tables but with its id', () => {
    const db = new Database(file);
    db.pragma('application_id = 7');
    db.close();
    chmodSync(file, 0o600);
    expectRefusal(/is not a mend store/);
  });
});

describe('damage', () => {
  it.each([
    ['text', Buffer.from('not a database, but a file of some length\n'.repeat(50))],
    ['a few bytes', Buffer.from('hello')],
    ['zeros', Buffer.alloc(8192)],
  ])('a file of %s', (_, bytes) => {
    writeFileSync(file, bytes, { mode: 0o600 });
    expectRefusal(DAMAGED);
  });

  it.each([4096 * 3, 4096 * 2 + 100, 1000])('a file cut to %i bytes', (length) => {
    makeStore();
    truncateSync(file, length);
    expectRefusal(/is damaged/);
  });

  it('a page of nonsense is found by the check of the daemon', () => {
    makeStore();
    const bytes = readFileSync(file);
    // The pages of tables and indexes begin with their kind; all but the first are overwritten.
    for (let at = 4096; at < bytes.length; at += 4096)
      if ([2, 5, 10, 13].includes(bytes[at] ?? 0)) bytes.fill(0xa5, at, at + 200);
    writeFileSync(file, bytes);
    expectRefusal(/is damaged/, [{ create: true, check: 'quick' }]);
  });
});

describe('who may enter', () => {
  it.each([0o755, 0o710, 0o701, 0o770])('a folder of mode %o that is not empty', (mode) => {
    makeStore();
    chmodSync(folder, mode);
    expectRefusal(/others may enter the store folder .*: run "chmod 700 /);
  });

  it.each([0o644, 0o640, 0o604, 0o660])('a file of mode %o', (mode) => {
    makeStore();
    chmodSync(file, mode);
    expectRefusal(/others may read the store .*: run "chmod 600 /);
  });

  it('a log of mode 644', () => {
    makeStore();
    writeFileSync(`${file}-wal`, '', { mode: 0o600 });
    chmodSync(`${file}-wal`, 0o644);
    expectRefusal(/others may read the store .*-wal/);
  });

  it.runIf(isRoot)('a folder of somebody else', () => {
    makeStore();
    chownSync(folder, 12345, 12345);
    expectRefusal(/belongs to user 12345, not to you: set MEND_STORE_DIR to a folder of yours$/);
  });

  it.runIf(isRoot)('a file of somebody else', () => {
    makeStore();
    chownSync(file, 12345, 12345);
    expectRefusal(/belongs to user 12345, not to you/);
  });
});

describe('what is no folder or file', () => {
  it('a folder that is a file, or under one', () => {
    const parent = folder;
    writeFileSync(join(parent, 'f'), 'mine');
    for (const path of ['f', 'f/g', 'f/g/h']) {
      folder = join(parent, path);
      for (const create of [true, false]) expect(() => openDatabase(folder, { create })).toThrow(MendError);
    }
    expect(readFileSync(join(parent, 'f'), 'utf8')).toBe('mine');
  });

  it('a folder that is a link', () => {
    const real = folder;
    folder = join(freshFolder(), 'link');
    symlinkSync(real, folder);
    for (const create of [true, false]) expect(() => openDatabase(folder, { create })).toThrow(/is not a folder/);
    expect(readdirSync(real)).toEqual([]);
  });

  it('a file that is a link, leading somewhere or nowhere', () => {
    const other = join(freshFolder(), 'target');
    symlinkSync(other, file);
    for (const create of [true, false])
      expect(() => openDatabase(folder, { create })).toThrow(/is not a regular file: move it away$/);
    writeFileSync(other, '', { mode: 0o600 });
    for (const create of [true, false]) expect(() => openDatabase(folder, { create })).toThrow(/is not a regular file/);
    expect(readFileSync(other, 'utf8')).toBe('');
  });

  it('a file that is a folder', () => {
    mkdirSync(file);
    for (const create of [true, false]) expect(() => openDatabase(folder, { create })).toThrow(/is not a regular file/);
  });
});

describe('a new store', () => {
  it('is not made unless asked for', () => {
    chmodSync(folder, 0o755);
    expect(() => openDatabase(folder, { create: false })).toThrow(/there is no store in .* yet: run "mend mount"/);
    expect(statSync(folder).mode & 0o777).toBe(0o755);
    expect(readdirSync(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
    expect(() => openDatabase(folder, { create: false })).toThrow(/there is no store in/);
  });

  it('tightens a folder that is empty', () => {
    chmodSync(folder, 0o755);
    openDatabase(folder, { create: true }).close();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('is for its owner alone, whatever the umask', () => {
    const umask = process.umask(0);
    try {
      folder = join(folder, 'a/b');
      const db = openDatabase(folder, { create: true });
      for (const name of ['../../a', '.', 'store.db', 'store.db-wal', 'store.db-shm']) {
        expect(statSync(join(folder, name)).mode & 0o077, name).toBe(0);
      }
      db.close();
    } finally {
      process.umask(umask);
    }
  });

  it('has the settings that the promises rest on', () => {
    const db = openDatabase(folder, { create: true, check: 'full' });
    const settings = ['journal_mode', 'synchronous', 'foreign_keys', 'secure_delete', 'application_id'].map((name) =>
      db.pragma(name, { simple: true }),
    );
    expect(settings).toEqual(['wal', 1, 1, 1, 0x6d656e64]);
    db.close();
  });
});

test('opening a good store changes no byte of it', () => {
  makeStore();
  const before = picture();
  for (const check of ['quick', 'full', undefined] as const) openDatabase(folder, { create: true, check }).close();
  expect(picture()).toEqual(before);
});
