import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { isSystemError, MendError } from '../errors.js';
import { backupsIn } from './backup-names.js';
import { damageInWords, isDamage } from './check/fault.js';
import { type Depth, pageFaults } from './check/pages.js';
import { STORE_FILE, storeExists, storeFolderExists } from './location.js';
import { logFault } from './log-header.js';
import { migrate, newestSchema, refuseForeign, schemaVersion } from './migrate.js';
import { displaced, isDisplaced } from './place.js';
import { syncFolders } from './sync-folders.js';

/** How long, in ms, a statement waits for another process that holds the store. */
const BUSY_TIMEOUT = 10_000;

export interface OpenOptions {
  /** Make the store when there is none. */
  readonly create: boolean;
  /** Looks for damage first. It is looked for anyway before a store is brought to a newer schema. */
  readonly check?: Depth | undefined;
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
  if (!prepareFile(file, options.create)) refuseBroken(file);
  let db: Database.Database | undefined;
  try {
    // Closing a connection that may write moves a log that was left behind into the file: look without one first.
    const isLeft = existsSync(`${file}-wal`);
    if (isLeft) {
      db = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT });
      refuseUnusable(db, file, options.check);
      db.close();
    }
    db = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT });
    if (isLeft) refuseForeign(db, file);
    else refuseUnusable(db, file, options.check);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma('foreign_keys = ON');
    db.pragma('secure_delete = ON');
    db.pragma('cache_size = -65536');
    db.pragma('temp_store = MEMORY');
    // Nobody can have been promised anything yet.
    if (schemaVersion(db) === 0) syncFolders(folder);
    migrate(db, file);
    return db;
  } catch (error) {
    db?.close();
    throw explain(error, file);
  }
}

export function prepareFolder(folder: string, create: boolean): void {
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

/** True when it made an empty file, to become a store. */
function prepareFile(file: string, create: boolean): boolean {
  let isMade = false;
  if (!storeExists(dirname(file))) {
    if (!create) throw noStore(dirname(file));
    refuseLogAlone(file);
    try {
      closeSync(openSync(file, 'wx', 0o600));
      isMade = true;
    } catch (error) {
      if (!isSystemError(error, 'EEXIST')) throw error;
    }
  }
  checkOwner(file);
  return isMade;
}

/**
 * @throws {MendError} when the log of a store lies there without it: SQLite would delete it, or play it into another.
 */
export function refuseLogAlone(file: string): void {
  if (sizeOf(`${file}-wal`) > 0)
    throw new MendError(`the log ${file}-wal lies there without its store: move it away, or its store back`);
}

function sizeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
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

/** @throws {MendError} for what is no store, is of a newer schema, or is damaged. Nothing is written. */
function refuseUnusable(db: Database.Database, file: string, check: Depth | undefined): void {
  refuseForeign(db, file);
  const version = schemaVersion(db);
  const depth = version > 0 && version < newestSchema() ? 'full' : check;
  const [fault] = depth === undefined ? [] : pageFaults(db, depth, 1);
  if (fault) throw damaged(file, fault.message);
}

/** How long, in ms, a store may be empty that somebody is making. */
const MAKING = 1000;
const PAUSE = 20;

/**
 * Looks for what SQLite passes over: a log that is none, and a store whose bytes are gone. One that somebody is making is
 * empty, too, for a moment; one that was used has left something behind.
 * @throws {MendError} for either.
 */
export function refuseBroken(file: string): void {
  const folder = dirname(file);
  const log = logFault(file);
  if (log !== undefined) throw damaged(file, log);
  const wasUsed =
    backupsIn(folder).length > 0 ||
    ['run', 'machine-id'].some((name) => existsSync(join(folder, name))) ||
    sizeOf(`${file}-wal`) > 0;
  if (!wasUsed) return;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (const end = Date.now() + MAKING; sizeOf(file) === 0; Atomics.wait(pause, 0, 0, PAUSE))
    if (Date.now() > end) throw damaged(file, 'it is empty, though it was used before');
}

/** @param what what is wrong with it, in words */
export function damaged(file: string, what: string, cause?: unknown): MendError {
  return new MendError(
    `the store ${file} is damaged (${what.replaceAll(/\s+/g, ' ')}): "mend store check" looks closer, and "mend store restore" puts a backup in its place; it was not changed`,
    { cause },
  );
}

/** True for an error, or one that it was made from, that says that there is no room on the disk. */
export function isDiskFull(error: unknown): boolean {
  if (isSystemError(error, 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', 'ENOSPC', 'EDQUOT')) return true;
  return error instanceof MendError && error.cause !== undefined && isDiskFull(error.cause);
}

/** A sentence for people in place of an error of SQLite or of its files, where there is one to say. */
export function explain(error: unknown, file: string): unknown {
  const code = isSystemError(error) ? String(error.code) : '';
  if (isDiskFull(error))
    return new MendError(`the disk with the store ${file} is full: make room and try again`, { cause: error });
  if (isDamage(error) && !code.startsWith('SQLITE_IOERR')) return damaged(file, damageInWords(error), error);
  if (code.startsWith('SQLITE_IOERR'))
    return new MendError(
      `the disk with the store ${file} fails (${code}): look after the disk, and make a backup on another with "mend store backup"`,
      { cause: error },
    );
  if (code === 'SQLITE_READONLY_DBMOVED')
    return new MendError(`the store ${file} was replaced while it was opened: run the command again`, { cause: error });
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
