import { copyFileSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isSystemError } from '../../errors.js';

/**
 * Reads a database that may be in use, and leaves its folder as it is: SQLite would make files beside a database that nobody
 * has open, so such a one is read from a copy.
 * @returns undefined when there is none, or it is no database
 */
export function readOnly<T>(file: string, read: (db: Database.Database) => T): T | undefined {
  if (!isRegular(file)) return undefined;
  const inUse = isRegular(`${file}-shm`) && isRegular(`${file}-wal`);
  const folder = inUse ? undefined : mkdtempSync(join(tmpdir(), 'mend-read-'));
  let db: Database.Database | undefined;
  try {
    let path = file;
    if (folder !== undefined) {
      path = join(folder, 'copy.sqlite');
      copyFileSync(file, path);
      if (isRegular(`${file}-wal`)) copyFileSync(`${file}-wal`, `${path}-wal`);
    }
    const opened = new Database(path, { readonly: true, fileMustExist: true, timeout: 5000 });
    db = opened;
    return opened.transaction(() => read(opened))();
  } catch (error) {
    if (isSystemError(error, 'SQLITE_NOTADB')) return undefined;
    throw error;
  } finally {
    db?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function isRegular(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
}
