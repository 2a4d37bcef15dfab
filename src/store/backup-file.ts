import { lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isSystemError, MendError } from '../errors.js';
import { checkDatabase } from './check/check-database.js';
import { damageInWords, isDamage } from './check/fault.js';
import { STORE_FILE } from './location.js';
import { logFault } from './log-header.js';
import { APPLICATION_ID, newestSchema, schemaVersion } from './migrate.js';
import { openFileReadOnly } from './read-only.js';

/** What a backup holds. */
export interface BackupContents {
  readonly schema: number;
  readonly projects: number;
  readonly files: number;
}

/**
 * Opens a file that is to be put in the place of a store, after everything about it was checked.
 * @throws {MendError} when it is no sound store of a schema that this program knows, or others may get at it.
 */
export function openBackup(file: string, folder: string): { db: Database.Database; holds: BackupContents } {
  for (const end of ['', '-wal']) checkOwner(file + end, end === '');
  const [live, given] = [join(folder, STORE_FILE), file].map((path) => statSync(path, { throwIfNoEntry: false }));
  if (live && given && live.ino === given.ino && live.dev === given.dev)
    throw new MendError(`${shown(file)} is the store itself: name a backup of it`);
  let db: Database.Database | undefined;
  try {
    const log = logFault(file);
    if (log !== undefined) throw isDamaged(file, log);
    db = openFileReadOnly(file);
    if (!db) throw new MendError(`there is no file ${shown(file)}: name a backup of a store`);
    return { db, holds: contentsOf(db, file) };
  } catch (error) {
    db?.close();
    if (isDamage(error)) throw isDamaged(file, damageInWords(error), error);
    if (error instanceof Database.SqliteError || isSystemError(error))
      throw new MendError(`${shown(file)} cannot be read (${String(error.code)}): copy it into a folder of yours`, {
        cause: error,
      });
    throw error;
  }
}

function contentsOf(db: Database.Database, file: string): BackupContents {
  const schema = schemaVersion(db);
  if (db.pragma('application_id', { simple: true }) !== APPLICATION_ID || schema < 1)
    throw new MendError(`${shown(file)} is not a mend store: name a backup that "mend store backup" made`);
  if (schema > newestSchema())
    throw new MendError(
      `${shown(file)} was made by a newer mend (schema ${schema}, this one knows ${newestSchema()}): upgrade mend`,
    );
  const [fault] = checkDatabase(db);
  if (fault) throw isDamaged(file, fault.message);
  const count = (sql: string): number => db.prepare<[], number>(sql).pluck().get() ?? 0;
  return {
    schema,
    projects: count('SELECT count(*) FROM project'),
    files: count("SELECT count(*) FROM node WHERE mount = 0 AND kind = 'file' AND parent IS NOT NULL"),
  };
}

function checkOwner(file: string, mustBe: boolean): void {
  let stat: ReturnType<typeof statSync>;
  try {
    stat = statSync(file, { throwIfNoEntry: false });
    if (!stat && lstatSync(file, { throwIfNoEntry: false }))
      throw new MendError(`${shown(file)} leads nowhere: name a backup of a store`);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new MendError(`${shown(file)} cannot be read (${error.code}): name a backup of yours`, { cause: error });
  }
  if (!stat) {
    if (mustBe) throw new MendError(`there is no file ${shown(file)}: name a backup of a store`);
    return;
  }
  if (!stat.isFile()) throw new MendError(`${shown(file)} is not a regular file: name a backup of a store`);
  if (stat.uid !== process.getuid?.())
    throw new MendError(
      `${shown(file)} belongs to user ${stat.uid}, not to you: copy it into a folder of yours, if you trust it`,
    );
  if ((stat.mode & 0o077) !== 0)
    throw new MendError(`others may read or write ${shown(file)}: run "chmod 600" on it, if you trust what it holds`);
}

function isDamaged(file: string, what: string, cause?: unknown): MendError {
  return new MendError(`the backup ${shown(file)} is damaged (${what}): name another one`, { cause });
}

function shown(path: string): string {
  return JSON.stringify(path);
}
