import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isSystemError } from '../errors.js';
import { STORE_FILE } from './location.js';
import { BACKUP_NAME } from './migrate.js';
import type { Project } from './projects.js';
import { markScrubbed } from './purge-rows.js';
import type { Store } from './store.js';

/**
 * Wipes the traces of deleted rows from the database file and its log. `secure_delete` overwrites what is deleted, but
 * when SQLite moves rows between pages it leaves copies of them in unused parts (about one small row in 2,500 on a busy
 * table), and the log has the pages as they were. So the database is written anew, and the log emptied. Everybody who
 * wants to write waits meanwhile, about a second for 100 MB.
 * @returns false when another process kept the log in use or the disk is full; the next scrub completes it
 */
export function scrub(store: Store): boolean {
  const { db } = store;
  try {
    db.exec('VACUUM');
    const [state] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    if (state?.busy !== 0 || statSync(join(store.folder, `${STORE_FILE}-wal`)).size > 0) return false;
  } catch (error) {
    if (error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED|FULL)/.test(error.code)) return false;
    throw error;
  }
  store.write(() => markScrubbed(db), true);
  return true;
}

/**
 * Deletes backups, made before an upgrade of the store, that have a file or one of some contents in them. One that
 * cannot be read is deleted too.
 * @returns the names of those that were deleted
 */
export function dropBackups(store: Store, tree: number, path: string, sha256: readonly Buffer[]): string[] {
  return dropBackupsThat(store, (backup) => {
    const content = backup.prepare<[Buffer]>('SELECT 1 FROM content WHERE sha256 = ?');
    if (sha256.some((digest) => content.get(digest))) return true;
    return ['version', 'served', 'import_base', 'draft'].some(
      (table) => backup.prepare(`SELECT 1 FROM ${table} WHERE tree = ? AND path = ?`).get(tree, path) !== undefined,
    );
  });
}

/** The same for backups that have a project in them. */
export function dropBackupsOf(store: Store, { id, created }: Project): string[] {
  return dropBackupsThat(
    store,
    (backup) => backup.prepare('SELECT 1 FROM project WHERE id = ? AND created = ?').get(id, created) !== undefined,
  );
}

function dropBackupsThat(store: Store, hold: (backup: Database.Database) => boolean): string[] {
  const names = readdirSync(store.folder).filter((name) => BACKUP_NAME.test(name));
  const stale = names.filter((name) => holds(join(store.folder, name), hold));
  for (const name of stale) rmSync(join(store.folder, name));
  return stale;
}

function holds(file: string, hold: (backup: Database.Database) => boolean): boolean {
  let backup: Database.Database | undefined;
  try {
    backup = new Database(file, { readonly: true, fileMustExist: true });
    return hold(backup);
  } catch (error) {
    if (error instanceof Database.SqliteError || isSystemError(error)) return true;
    throw error;
  } finally {
    backup?.close();
  }
}
