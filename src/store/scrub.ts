import { statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isSystemError } from '../errors.js';
import { type BackupKind, backupKind, backupsIn, removeBackup } from './backup-names.js';
import { sync } from './durable.js';
import { STORE_FILE } from './location.js';
import type { Project } from './projects.js';
import { markScrubbed } from './purge-rows.js';
import { tidyReplaced } from './replace-store.js';
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
    const log = statSync(join(store.folder, `${STORE_FILE}-wal`), { throwIfNoEntry: false });
    if (state?.busy !== 0 || (log?.size ?? 0) > 0) return false;
  } catch (error) {
    if (error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED|FULL)/.test(error.code)) return false;
    throw error;
  }
  store.write(() => markScrubbed(db), true);
  return true;
}

/** What a purge came to in the copies of the store that lie beside it. */
export interface DroppedBackups {
  readonly deleted: readonly { readonly name: string; readonly kind: BackupKind | undefined }[];
  /** Damaged stores that a restore put aside or a daemon rescued: nobody can tell what they hold, and they may be all that is left of it. */
  readonly unread: readonly string[];
}

/** What a purge was about. */
export interface PurgedFile {
  /** Row id of the tree. */
  readonly tree: number;
  readonly path: string;
  /** Hashes of the contents that went. */
  readonly sha256: readonly Buffer[];
  /** Conversations whose summaries went (`Summary`). */
  readonly threads: readonly string[];
}

/**
 * Deletes copies of the store in its folder that have a file in them, or one of some contents that the store has no more: from before an upgrade,
 * of `mend store backup` and of `mend store restore`, and what a daemon rescued. A backup that cannot be read is deleted too, but
 * for stores that were replaced or rescued: those are named.
 */
export function dropBackups(store: Store, { tree, path, sha256, threads }: PurgedFile): DroppedBackups {
  // What another file keeps here may stay there, too.
  const kept = store.db.prepare<[Buffer]>('SELECT 1 FROM content WHERE sha256 = ?');
  const gone = sha256.filter((digest) => !kept.get(digest));
  return dropBackupsThat(store, (backup) => {
    if (threads.some((thread) => hasSummary(backup, tree, thread))) return true;
    const content = backup.prepare<[Buffer]>('SELECT 1 FROM content WHERE sha256 = ?');
    if (gone.some((digest) => content.get(digest))) return true;
    return ['version', 'served', 'import_base', 'draft'].some(
      (table) => backup.prepare(`SELECT 1 FROM ${table} WHERE tree = ? AND path = ?`).get(tree, path) !== undefined,
    );
  });
}

function hasSummary(backup: Database.Database, tree: number, thread: string): boolean {
  // There are none in stores of earlier schemas.
  if (!backup.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'summary'").get()) return false;
  return backup.prepare('SELECT 1 FROM summary WHERE tree = ? AND thread = ?').get(tree, thread) !== undefined;
}

/** The same for copies that have a project in them. */
export function dropBackupsOf(store: Store, { id, created }: Project): DroppedBackups {
  return dropBackupsThat(
    store,
    (backup) => backup.prepare('SELECT 1 FROM project WHERE id = ? AND created = ?').get(id, created) !== undefined,
  );
}

function dropBackupsThat({ folder }: Store, hold: (backup: Database.Database) => boolean): DroppedBackups {
  tidyReplaced(folder);
  const deleted: { name: string; kind: BackupKind | undefined }[] = [];
  const unread: string[] = [];
  for (const name of backupsIn(folder)) {
    const kind = backupKind(name);
    const held = holds(join(folder, name), hold);
    if (held === undefined && (kind === 'replaced' || kind === 'rescued')) unread.push(name);
    else if (held !== false) {
      removeBackup(folder, name);
      deleted.push({ name, kind });
    }
  }
  // They would be back after the power went.
  if (deleted.length > 0) sync(folder);
  return { deleted, unread };
}

/** Undefined when it cannot be read. */
function holds(file: string, hold: (backup: Database.Database) => boolean): boolean | undefined {
  let backup: Database.Database | undefined;
  try {
    backup = new Database(file, { readonly: true, fileMustExist: true });
    return hold(backup);
  } catch (error) {
    if (error instanceof Database.SqliteError || isSystemError(error)) return undefined;
    throw error;
  } finally {
    backup?.close();
  }
}
