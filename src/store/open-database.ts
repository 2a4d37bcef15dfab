import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { isSystemError, MendError } from '../errors.js';
import { STORE_FILE, storeExists, storeFolderExists } from './location.js';
import { migrate, refuseForeign } from './migrate.js';
import { displaced, isDisplaced } from './place.js';

/** How long, in ms, a statement waits for another process that holds the store. */
const BUSY_TIMEOUT = 10_000;

export interface OpenOptions {
  /** Make the store when there is none. */
  readonly create: boolean;
  /** Read every page's structure once; done by the daemon at its start. */
  readonly check?: boolean;
}

/**
 * Opens the database of a store folder, after checking that folder and file belong to this user alone.
 * @throws {MendError} when there is no store and `create` is false, owner or mode are wrong, the schema is newer
 *   than this program, or the file is damaged or not a store. Nothing is changed then.
 */
export function openDatabase(folder: string, options: OpenOptions): Database.Database {
  const file = join(folder, STORE_FILE);
  prepareFolder(folder, options.create);
  if (isDisplaced(file)) throw displaced(file);
  prepareFile(file, options.create);
  let db: Database.Database | undefined;
  try {
    // Closing a connection that may write moves a log that was left behind into the file: look without one first.
    if (existsSync(`${file}-wal`)) {
      db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT });
      refuseForeign(db, file);
      db.close();
    }
    db = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT });
    refuseForeign(db, file);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma('foreign_keys = ON');
    db.pragma('secure_delete = ON');
    db.pragma('cache_size = -65536');
    db.pragma('temp_store = MEMORY');
    migrate(db, file);
    if (options.check) checkStructure(db, file);
    return db;
  } catch (error) {
    db?.close();
    throw explain(error, file);
  }
}

function prepareFolder(folder: string, create: boolean): void {
  if (!storeFolderExists(folder)) {
    if (!create) throw noStore(folder);
    try {
      makeFolder(folder);
    } catch (error) {
      throw new MendError(
        `cannot make the store folder ${folder}: make ${dirname(folder)} writable or set MEND_STORE_DIR`,
        {
          cause: error,
        },
      );
    }
  }
  if ((lstatSync(folder).mode & 0o077) === 0) return;
  if (readdirSync(folder).length > 0) {
    throw new MendError(`others may enter the store folder ${folder}: run "chmod 700 ${folder}"`);
  }
  if (create) chmodSync(folder, 0o700);
}

/** Makes a folder and those above it. Node's own recursion never ends where a folder above can have none in it (`/proc`). */
function makeFolder(folder: string): void {
  if (!existsSync(dirname(folder))) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw error;
  }
}

function prepareFile(file: string, create: boolean): void {
  if (!storeExists(dirname(file))) {
    if (!create) throw noStore(dirname(file));
    try {
      closeSync(openSync(file, 'wx', 0o600));
    } catch (error) {
      if (!isSystemError(error, 'EEXIST')) throw error;
    }
  }
  checkOwner(file);
}

/**
 * Checks the folder and the file of a store that is there. Changes nothing.
 * @throws {MendError} when owner or mode are wrong.
 */
export function checkFiles(file: string): void {
  prepareFolder(dirname(file), false);
  checkOwner(file);
}

function checkOwner(file: string): void {
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat) continue;
    if (!stat.isFile()) throw new MendError(`the store ${path} is not a regular file: move it away`);
    if (stat.uid !== process.getuid?.()) {
      throw new MendError(
        `the store ${path} belongs to user ${stat.uid}, not to you: set MEND_STORE_DIR to a folder of yours`,
      );
    }
    if ((stat.mode & 0o600) !== 0o600)
      throw new MendError(`you may not read and write the store ${path}: run "chmod 600 ${path}"`);
    if ((stat.mode & 0o077) !== 0) throw new MendError(`others may read the store ${path}: run "chmod 600 ${path}"`);
  }
}

function noStore(folder: string): MendError {
  return new MendError(`there is no store in ${folder} yet: run "mend mount" in a checkout first`);
}

function checkStructure(db: Database.Database, file: string): void {
  const result = db.pragma('quick_check(1)', { simple: true });
  if (result !== 'ok') throw damaged(file);
}

function damaged(file: string, cause?: unknown): MendError {
  return new MendError(`the store ${file} is damaged: move it away or put a backup in its place; it was not changed`, {
    cause,
  });
}

/** True for an error, or one that it was made from, that says that there is no room on the disk. */
export function isDiskFull(error: unknown): boolean {
  if (isSystemError(error, 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', 'ENOSPC', 'EDQUOT')) return true;
  return error instanceof MendError && error.cause !== undefined && isDiskFull(error.cause);
}

/** A sentence for people in place of an error of SQLite or of its files, where there is one to say. */
export function explain(error: unknown, file: string): unknown {
  const code = isSystemError(error) ? String(error.code) : '';
  if (code.startsWith('SQLITE_NOTADB') || code.startsWith('SQLITE_CORRUPT')) return damaged(file, error);
  if (isDiskFull(error))
    return new MendError(`the disk with the store ${file} is full: make room and try again`, { cause: error });
  const isOfFile = code === 'EACCES' && String((error as NodeJS.ErrnoException).path).startsWith(file);
  if (code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_READONLY') || isOfFile) {
    return new MendError(`cannot write the store ${file}: check the permissions of its folder`, { cause: error });
  }
  if (code.startsWith('SQLITE_BUSY')) {
    return new MendError(`the store ${file} is busy: try again when the other process that holds it is done`, {
      cause: error,
    });
  }
  return error;
}
