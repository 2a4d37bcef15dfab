import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { MendError } from '../../errors.js';
import { STORE_FILE, storeExists } from '../location.js';
import { logFault } from '../log-header.js';
import { refuseForeign, schemaVersion } from '../migrate.js';
import { checkFiles, explain } from '../open-database.js';
import { openFileReadOnly } from '../read-only.js';
import { checkDatabase } from './check-database.js';
import { damageInWords, type Fault, isDamage } from './fault.js';

/** What was found in the file of a store. */
export interface StoreCheck {
  readonly path: string;
  readonly bytes: number;
  /** Null when it cannot be read. */
  readonly schema: number | null;
  readonly faults: readonly Fault[];
}

/**
 * Looks for everything that can be wrong in a store, which may be served meanwhile. Changes nothing.
 * @throws {MendError} when there is none, it is not one, of a newer schema or not this user's alone.
 */
export function checkStore(folder: string): StoreCheck {
  const file = join(folder, STORE_FILE);
  if (!storeExists(folder)) throw new MendError(`there is no store in ${folder}: there is nothing to check`);
  checkFiles(file);
  const found = { path: file, bytes: lstatSync(file).size };
  const log = logFault(file);
  const faults: Fault[] = log === undefined ? [] : [{ check: 'log', message: log }];
  if (found.bytes === 0)
    return { ...found, schema: null, faults: [...faults, { check: 'file', message: 'it is empty' }] };
  let db: Database.Database | undefined;
  try {
    db = openFileReadOnly(file);
    if (!db) throw new MendError(`there is no store in ${folder}: there is nothing to check`);
    refuseForeign(db, file);
    return { ...found, schema: schemaVersion(db), faults: [...faults, ...checkDatabase(db)] };
  } catch (error) {
    if (!isDamage(error)) throw explain(error, file);
    return { ...found, schema: null, faults: [...faults, { check: 'file', message: damageInWords(error) }] };
  } finally {
    db?.close();
  }
}
