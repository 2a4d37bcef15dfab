import { lstatSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { usageError } from '../errors.js';

/** Folder that an administrator makes for a user's store: `/var/lib/mend/<uid>`. */
const SYSTEM_FOLDER = '/var/lib/mend';

/** Name of the database file in the store's folder. */
export const STORE_FILE = 'store.db';

/**
 * The folder of this user's store: `MEND_STORE_DIR`, else the one an administrator made under `/var/lib/mend`,
 * else under `XDG_DATA_HOME` (spec §11.3).
 * @throws {MendError} when `MEND_STORE_DIR` is not absolute.
 */
export function storeFolder(env: NodeJS.ProcessEnv, uid: number): string {
  const named = env['MEND_STORE_DIR'];
  if (named) {
    if (!isAbsolute(named)) throw usageError('MEND_STORE_DIR must be an absolute path: give the whole path of the folder');
    return named;
  }
  const system = join(SYSTEM_FOLDER, String(uid));
  if (statSync(system, { throwIfNoEntry: false })?.isDirectory()) return system;
  const data = env['XDG_DATA_HOME'];
  const base = data && isAbsolute(data) ? data : join(env['HOME'] || homedir(), '.local/share');
  return join(base, 'mend', String(uid));
}

/** True when the folder holds a store already. */
export function storeExists(folder: string): boolean {
  return lstatSync(join(folder, STORE_FILE), { throwIfNoEntry: false }) !== undefined;
}
