import { join } from 'node:path';
import Database from 'better-sqlite3';
import { STORE_FILE, storeExists } from './location.js';
import { migrate, refuseForeign } from './migrate.js';
import { checkFiles, explain, refuseBroken } from './open-database.js';
import { openImage, openReadOnly } from './read-only.js';

/**
 * A copy of a store in memory, brought to this program's schema; an empty store where there is none. What is done to it
 * is lost, and no byte of the store's files is written.
 * @throws {MendError} as `openDatabase` does.
 */
export function copyOfStore(folder: string): Database.Database {
  const file = join(folder, STORE_FILE);
  try {
    const db = storeExists(folder) ? openImage(imageOf(folder, file), {}) : new Database(':memory:');
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
  refuseBroken(file);
  const db = openReadOnly(folder);
  if (!db) return Buffer.alloc(0);
  try {
    refuseForeign(db, file);
    return db.serialize();
  } finally {
    db.close();
  }
}
