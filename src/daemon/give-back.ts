import type Database from 'better-sqlite3';

/** Gives memory back that nothing needs while nobody calls: SQLite's page cache, and what the engine has not tidied up. */
export function giveBack(db: Database.Database): void {
  db.pragma('shrink_memory');
  globalThis.gc?.();
}
