import { chmodSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type Database from 'better-sqlite3';
import { MendError } from '../errors.js';

/** `PRAGMA application_id` of a mend store: "mend" in ASCII. */
const APPLICATION_ID = 0x6d656e64;
const SCHEMA_FOLDER = fileURLToPath(new URL('./schema/', import.meta.url));

interface Migration {
  readonly version: number;
  readonly sql: string;
}

/** The numbered SQL files, oldest first; several files may make up one version. */
function migrations(): Migration[] {
  return readdirSync(SCHEMA_FOLDER)
    .filter((name) => /^\d{3}.*\.sql$/.test(name))
    .sort()
    .map((name) => ({ version: Number(name.slice(0, 3)), sql: readFileSync(`${SCHEMA_FOLDER}${name}`, 'utf8') }));
}

function schemaVersion(db: Database.Database): number {
  return db.pragma('user_version', { simple: true }) as number;
}

/** The schema that this program writes. */
export function newestSchema(): number {
  return Math.max(...migrations().map((m) => m.version));
}

/**
 * Refuses a database that is not a mend store, without writing to it.
 * @throws {MendError} when it belongs to another program.
 */
export function refuseForeign(db: Database.Database, file: string): void {
  // In one snapshot: another process may be making the store at this moment.
  const read = db.transaction(() => ({
    id: db.pragma('application_id', { simple: true }),
    tables: db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number,
  }));
  const { id, tables } = read();
  if (id !== APPLICATION_ID && !(id === 0 && tables === 0)) {
    throw new MendError(`${file} is not a mend store: move it away or set MEND_STORE_DIR`);
  }
  const newest = Math.max(...migrations().map((m) => m.version));
  if (schemaVersion(db) > newest) {
    throw new MendError(
      `the store ${file} was made by a newer mend (schema ${schemaVersion(db)}, this one knows ${newest}): upgrade mend`,
    );
  }
}

/**
 * Brings the schema up to date in one transaction, after a backup beside the file when there is anything to lose.
 * @param file undefined for a database in memory
 */
export function migrate(db: Database.Database, file?: string): void {
  const all = migrations();
  const newest = Math.max(...all.map((m) => m.version));
  if (schemaVersion(db) === newest) return;
  if (schemaVersion(db) > 0 && file !== undefined) backUp(db, file);
  db.transaction(() => {
    const from = schemaVersion(db);
    for (const { version, sql } of all) if (version > from) db.exec(sql);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${newest}`);
  }).immediate();
}

/**
 * Names of copies in a store's folder: the backup of a store that was of an older schema, and what a daemon saved of one
 * that was taken away from it.
 */
export const BACKUP_NAME = /^store\.db\.(schema-\d+\.backup(\.\d+)?|rescued-\d+)$/;

/** Through a name of this process's own: several may be about to migrate the same store. */
function backUp(db: Database.Database, file: string): void {
  const backup = `${file}.schema-${schemaVersion(db)}.backup`;
  const fresh = `${backup}.${process.pid}`;
  try {
    rmSync(fresh, { force: true });
    db.prepare('VACUUM INTO ?').run(fresh);
    chmodSync(fresh, 0o600);
    renameSync(fresh, backup);
  } finally {
    rmSync(fresh, { force: true });
  }
}
