import { join } from 'node:path';
import Database from 'better-sqlite3';
import { STORE_FILE, storeExists } from './location.js';
import { migrate, refuseForeign } from './migrate.js';
import { checkFiles, explain } from './open-database.js';
import { openReadOnly } from './read-only.js';

/** Places in the header of a database file that say whether it has a write-ahead log (SQLite's file format, 1.3.3). */
const LOG_MARKS = [18, 19];
/** The mark of a database without one, the only kind that can be opened in memory. */
const NO_LOG = 1;

/**
 * A copy of a store in memory, brought to this program's schema; an empty store where there is none. What is done to it
 * is lost, and no byte of the store's files is written.
 * @throws {MendError} as `openDatabase` does.
 */
export function copyOfStore(folder: string): Database.Database {
  const file = join(folder, STORE_FILE);
  try {
    const db = storeExists(folder) ? new Database(imageOf(folder, file)) : new Database(':memory:');
    refuseForeign(db, file);
    db.pragma('foreign_keys = ON');
    migrate(db);
    return db;
  } catch (error) {
    throw explain(error, file);
  }
}

function imageOf(folder: string, file: string): Buffer {
  checkFiles(file);
  const db = openReadOnly(folder);
  if (!db) return Buffer.alloc(0);
  try {
    refuseForeign(db, file);
    const image = db.serialize();
    for (const mark of LOG_MARKS) if (mark < image.length) image[mark] = NO_LOG;
    return image;
  } finally {
    db.close();
  }
}
