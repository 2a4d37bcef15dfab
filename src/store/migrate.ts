import { closeSync, openSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { MendError } from '../errors.js';
import { sync } from './durable.js';

/** `PRAGMA application_id` of a mend store: "mend" in ASCII. */
export const APPLICATION_ID = 0x6d656e64;
const SCHEMA_FOLDER = fileURLToPath(new URL('./schema/', import.meta.url));

export interface Migration {
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

/** The files that make up a schema and those before it. */
export function migrationsUpTo(version: number): Migration[] {
  return migrations().filter((one) => one.version <= version);
}

/** The schema of a database; 0 for one that is empty. */
export function schemaVersion(db: Database.Database): number {
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
 * Through a name of this process's own: several may be about to migrate the same store. The backup is whole and on the
 * disk when this returns; when it cannot be made (the disk is full), nothing is migrated.
 */
function backUp(db: Database.Database, file: string): void {
  const version = schemaVersion(db);
  const backup = `${file}.schema-${version}.backup`;
  const fresh = `${backup}.${process.pid}`;
  try {
    rmSync(fresh, { force: true });
    closeSync(openSync(fresh, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(fresh);
    // Another process may have migrated it meanwhile, after a backup of its own, which must not be replaced.
    if (versionIn(fresh) !== version) return;
    sync(fresh);
    renameSync(fresh, backup);
    sync(dirname(backup));
  } finally {
    rmSync(fresh, { force: true });
  }
}

function versionIn(file: string): number {
  const db = new Database(file, { readonly: true });
  try {
    return schemaVersion(db);
  } finally {
    db.close();
  }
}
