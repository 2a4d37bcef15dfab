import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, linkSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { isSystemError, MendError } from '../errors.js';
import { backupKind, backupsIn, datedName, removeBackup, unfinishedBy } from './backup-names.js';
import { isDamage } from './check/fault.js';
import { sync } from './durable.js';
import { STORE_FILE } from './location.js';
import { checkFiles, explain, prepareFolder, refuseLogAlone } from './open-database.js';

/** How long, in ms, a process that has the store open may take to be done. */
const PATIENCE = 2000;

/**
 * Puts a copy of a database in the place of a store, and keeps what it replaces beside it. Whenever it is killed, the
 * store is the old one or the new one, each with the log that belongs to it. The store that is there is not written to,
 * but for SQLite's moving its log into it.
 * @param database the backup, checked
 * @returns the name of what was replaced, in the same folder; undefined when there was no store
 * @throws {MendError} when a process has the store open, or the disk is full; nothing was changed then.
 */
export function replaceStore(folder: string, database: Database.Database, at: Date): string | undefined {
  const file = join(folder, STORE_FILE);
  const stage = `${file}.restoring.${process.pid}`;
  prepareFolder(folder, true);
  tidyReplaced(folder);
  try {
    closeSync(openSync(stage, 'wx', 0o600));
    database.prepare('VACUUM INTO ?').run(stage);
    sync(stage);
    return exchange(folder, file, stage, at);
  } catch (error) {
    throw explain(error, file);
  } finally {
    rmSync(stage, { force: true });
  }
}

function exchange(folder: string, file: string, stage: string, at: Date): string | undefined {
  const name = datedName(folder, 'replaced', at);
  const isThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  if (isThere) checkFiles(file);
  else refuseLogAlone(file);
  const held = isThere ? holdAlone(file) : undefined;
  try {
    const kept = isThere ? keep(folder, file, name) : name;
    try {
      // A log that could not be moved into its database stays with it: beside another it would be played into that.
      if (sizeOf(`${file}-wal`) > 0) renameSync(`${file}-wal`, `${join(folder, kept)}-wal`);
      else rmSync(`${file}-wal`, { force: true });
      rmSync(`${file}-shm`, { force: true });
      renameSync(stage, file);
    } catch (error) {
      if (isThere) undo(folder, kept, file);
      throw error;
    }
    if (kept !== name) finish(folder, kept);
    sync(folder);
  } finally {
    held?.close();
  }
  return isThere ? name : undefined;
}

/**
 * Gives a store a second name. On a file system without hard links it is a copy, whose name says until the store was
 * replaced who makes it; another process makes it, since a file that this one closes would lose its locks (fcntl(2)).
 */
function keep(folder: string, file: string, name: string): string {
  try {
    linkSync(file, join(folder, name));
    return name;
  } catch (error) {
    if (!isSystemError(error, 'EPERM', 'ENOSYS', 'EOPNOTSUPP', 'ENOTSUP')) throw error;
  }
  const copy = `${name}.${process.pid}`;
  try {
    execFileSync('cp', ['--preserve=mode', '--', file, join(folder, copy)], { stdio: 'ignore' });
    sync(join(folder, copy));
  } catch (error) {
    removeBackup(folder, copy);
    throw new MendError(
      `the store ${file} cannot be copied to keep it: make room on its disk for another one, and try again`,
      { cause: error },
    );
  }
  return copy;
}

/** The store was replaced: what it was before gets the name that stays. */
function finish(folder: string, copy: string): void {
  const [from, to] = [copy, copy.replace(/\.\d+$/, '')].map((name) => join(folder, name)) as [string, string];
  if (existsSync(`${from}-wal`)) renameSync(`${from}-wal`, `${to}-wal`);
  renameSync(from, to);
}

/**
 * Has SQLite move the log into the store and let nobody else open it. A process that waited for it meanwhile cannot
 * begin a log where another store lies by then: it would have to write to the old file first, and SQLite refuses to
 * write to one that was moved (`SQLITE_READONLY_DBMOVED`).
 * @returns undefined for a store that cannot be opened, by nobody
 */
function holdAlone(file: string): Database.Database | undefined {
  if (!canBeRead(file)) return undefined;
  const db = new Database(file, { fileMustExist: true, timeout: PATIENCE });
  try {
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db.close();
    if (isDamage(error)) return undefined;
    if (isSystemError(error, 'SQLITE_BUSY', 'SQLITE_LOCKED'))
      throw new MendError(
        `another process has the store ${file} open: run "mend unmount --all", wait for other commands to end, and try again`,
        { cause: error },
      );
    throw error;
  }
}

/** Closing a connection that may write moves a log into a file even where that cannot be read: look without one first. */
function canBeRead(file: string): boolean {
  if (!existsSync(`${file}-wal`)) return true;
  const db = new Database(file, { readonly: true, fileMustExist: true, timeout: PATIENCE });
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return true;
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  } finally {
    db.close();
  }
}

/** Takes away what a `replaceStore` left that was killed. */
export function tidyReplaced(folder: string): void {
  const file = join(folder, STORE_FILE);
  const names = backupsIn(folder);
  const isDead = (pid: number | undefined): boolean => pid !== undefined && !existsSync(`/proc/${pid}`);
  for (const name of names.filter((each) => each.includes('.replaced.') && isDead(unfinishedBy(each)))) {
    // What was to take its place is there as long as it has not.
    if (names.includes(`${STORE_FILE}.restoring.${unfinishedBy(name)}`)) undo(folder, name, file);
    else finish(folder, name);
  }
  for (const name of names) {
    if (name.includes('.restoring.') && isDead(unfinishedBy(name))) removeBackup(folder, name);
    if (backupKind(name) === 'replaced' && isSame(join(folder, name), file)) undo(folder, name, file);
  }
}

/** The store was about to be replaced, and was not: its second name goes, and a log that had gone already comes back. */
function undo(folder: string, name: string, file: string): void {
  const log = join(folder, `${name}-wal`);
  if (existsSync(log) && !existsSync(`${file}-wal`)) renameSync(log, `${file}-wal`);
  removeBackup(folder, name);
  sync(dirname(file));
}

function sizeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}
