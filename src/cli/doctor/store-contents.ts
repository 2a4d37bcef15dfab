import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { STORE_FILE } from '../../store/location.js';
import { newestSchema } from '../../store/migrate.js';
import { ok, problem, type Result, warning } from './finding.js';

/** Where the header of a database file has its `user_version` (SQLite's file format, 1.3). */
const VERSION_OFFSET = 60;

/** The schema of a store is this program's. A newer one is refused when the store is opened. */
export function checkSchema(folder: string): Result[] {
  const newest = newestSchema();
  const version = schemaOf(join(folder, STORE_FILE));
  if (version === newest) return [ok(`the store has schema ${version}`)];
  return [
    warning(
      `the store has schema ${version}, and this mend uses ${newest}`,
      'run any command that uses it, such as "mend memory": it is upgraded then, after a backup',
    ),
  ];
}

function schemaOf(file: string): number {
  const header = Buffer.alloc(VERSION_OFFSET + 4);
  const fd = openSync(file, 'r');
  try {
    readSync(fd, header, 0, header.length, 0);
    return header.readUInt32BE(VERSION_OFFSET);
  } finally {
    closeSync(fd);
  }
}

/** The structure of a store's pages is sound, and what its rows point at is there. */
export function checkIntegrity(db: Database.Database): Result[] {
  if (isSound(db)) return [ok('the store is sound')];
  return [
    problem(
      'the store is damaged',
      '"mend store check" looks closer; save what can be read ("mend memory export"), then have "mend store restore" put a backup in its place',
    ),
  ];
}

function isSound(db: Database.Database): boolean {
  try {
    return (
      db.pragma('quick_check(1)', { simple: true }) === 'ok' &&
      (db.pragma('foreign_key_check') as unknown[]).length === 0
    );
  } catch (error) {
    // Some damage breaks off the check itself.
    if (error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code)) return false;
    throw error;
  }
}
