import { randomBytes } from 'node:crypto';
import { closeSync, lstatSync, openSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { isSystemError, MendError } from '../errors.js';
import { datedName, removeBackup } from './backup-names.js';
import { checkDatabase } from './check/check-database.js';
import { placeNew } from './durable.js';
import { STORE_FILE } from './location.js';
import { refuseForeign, schemaVersion } from './migrate.js';
import { checkFiles, damaged, explain, refuseBroken } from './open-database.js';
import { openReadOnly } from './read-only.js';

/** A backup that was made. */
export interface Backup {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Copies a store, as it is at one moment and also while it is served, into a file that is not there yet: without its
 * log, readable by its owner alone. It was checked and is on the disk when this returns.
 * @param target undefined for a name with the time, in the store's folder; of a folder, for that name in it
 * @throws {MendError} when there is no store, it is damaged, or the file cannot be made; nothing of it is left then.
 */
export function backUpStore(folder: string, target: string | undefined, at: Date): Backup {
  const store = join(folder, STORE_FILE);
  checkFiles(store);
  refuseBroken(store);
  const place = placeOf(folder, target, at);
  const stage = join(dirname(place), unfinishedName(folder, place));
  try {
    copy(folder, store, stage);
    placeNew(stage, place);
    return { path: place, bytes: statSync(place).size };
  } catch (error) {
    throw explainTarget(error, place);
  } finally {
    removeBackup(dirname(stage), basename(stage));
  }
}

function copy(folder: string, store: string, stage: string): void {
  try {
    const db = openReadOnly(folder);
    if (!db) throw new MendError(`there is no store in ${folder}: nothing was backed up`);
    try {
      refuseForeign(db, store);
      if (schemaVersion(db) === 0) throw new MendError(`the store ${store} is empty: there is nothing to back up`);
      // SQLite writes into an empty file, and so never into one that others may read.
      closeSync(openSync(stage, 'wx', 0o600));
      db.prepare('VACUUM INTO ?').run(stage);
    } finally {
      db.close();
    }
  } catch (error) {
    throw isSystemError(error, 'SQLITE_FULL', 'SQLITE_IOERR_WRITE') ? error : explain(error, store);
  }
  const made = new Database(stage, { readonly: true, fileMustExist: true });
  try {
    const [fault] = checkDatabase(made);
    if (fault) throw damaged(store, fault.message);
  } finally {
    made.close();
  }
}

/** One that `mend doctor` knows, in the store's folder; elsewhere one that no program takes for a file of its own. */
function unfinishedName(folder: string, place: string): string {
  if (dirname(place) === folder) return `${basename(place)}.${process.pid}`;
  return `.mend.tmp.${process.pid}.${randomBytes(4).toString('hex')}`;
}

/** @throws {MendError} for a name that something has, and a folder in which others could exchange the file. */
function placeOf(folder: string, target: string | undefined, at: Date): string {
  if (target === undefined) return join(folder, datedName(folder, 'backup', at));
  try {
    const there = lstatSync(target, { throwIfNoEntry: false });
    const isFolder = there !== undefined && statSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
    if (there && !isFolder)
      throw new MendError(`${shown(target)} is there already, and a backup replaces nothing: name another file`);
    const parent = isFolder ? target : dirname(target);
    if (!statSync(parent, { throwIfNoEntry: false })?.isDirectory())
      throw new MendError(`there is no folder ${shown(parent)}: make it first`);
    const real = realpathSync(parent);
    refuseShared(real, statSync(real));
    return join(real, isFolder ? datedName(real, 'backup', at) : basename(target));
  } catch (error) {
    throw explainTarget(error, target);
  }
}

/**
 * As `/tmp`, a folder may be open to all when it has the sticky bit: there nobody can exchange what is not theirs
 * (chmod(2)). A folder that its owner's own group may write, too, is what a umask of 002 makes.
 */
function refuseShared(folder: string, { uid, gid, mode }: Stats): void {
  const isSticky = (mode & 0o1000) !== 0;
  const isOpen = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== process.getgid?.());
  if ((uid === process.getuid?.() || uid === 0) && (isSticky || !isOpen)) return;
  throw new MendError(
    `others can change what lies in ${shown(folder)}, and a backup holds all of your memory: name a folder of yours`,
  );
}

function explainTarget(error: unknown, target: string): unknown {
  if (!isSystemError(error)) return error;
  const code = error.code ?? '';
  const say = (sentence: string): MendError => new MendError(sentence, { cause: error });
  if (['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_WRITE'].includes(code))
    return say(`there is no room for the backup at ${shown(target)}: make room or name a file on another disk`);
  if (['EACCES', 'EPERM', 'EROFS'].includes(code))
    return say(`the backup cannot be written at ${shown(target)}: name a file in a folder of yours`);
  if (code === 'ENOTDIR') return say(`there is no folder ${shown(dirname(target))}: make it first`);
  if (code === 'EEXIST')
    return say(`${shown(target)} is there already, and a backup replaces nothing: name another file`);
  return say(`the backup cannot be written at ${shown(target)} (${code}): name another file`);
}

function shown(path: string): string {
  return JSON.stringify(path);
}
