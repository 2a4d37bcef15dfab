import { hash } from 'node:crypto';
import { lstatSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { isSystemError, MendError, usageError } from '../errors.js';

/** In it an administrator makes folders for users' stores: `/var/lib/mend/<uid>`. */
const SYSTEM_FOLDER = '/var/lib/mend';

/** Name of the database file in the store's folder. */
export const STORE_FILE = 'store.db';

/**
 * The folder of what is the machine's and no person's: `/var/lib/mend`, or `MEND_SYSTEM_DIR`.
 * @throws {MendError} (usage) when that is not absolute.
 */
export function systemFolder(env: NodeJS.ProcessEnv): string {
  const named = env['MEND_SYSTEM_DIR'];
  if (!named) return SYSTEM_FOLDER;
  if (isAbsolute(named)) return named;
  throw usageError('MEND_SYSTEM_DIR must be an absolute path: give the whole path of the folder');
}

/**
 * The folder of this user's store: `MEND_STORE_DIR`, else the one an administrator made under `/var/lib/mend`,
 * else under `XDG_DATA_HOME` (spec §11.3). A store that is there already stays in use while the administrator's folder is
 * empty, so that nobody's memory vanishes from view when that folder is made.
 * @throws {MendError} when `MEND_STORE_DIR` is not absolute.
 */
export function storeFolder(env: NodeJS.ProcessEnv, uid: number): string {
  const named = env['MEND_STORE_DIR'];
  if (named) {
    if (!isAbsolute(named))
      throw usageError('MEND_STORE_DIR must be an absolute path: give the whole path of the folder');
    return named;
  }
  const system = join(systemFolder(env), String(uid));
  const own = dataFolder(env, uid);
  if (!statSync(system, { throwIfNoEntry: false })?.isDirectory()) return own;
  return isEmpty(system) && holdsStore(own) ? own : system;
}

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch (error) {
    // Somebody else's: whoever uses it says so.
    if (isSystemError(error)) return false;
    throw error;
  }
}

function holdsStore(folder: string): boolean {
  try {
    return lstatSync(join(folder, STORE_FILE), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}

/** This user's own folder for data of mend: under `XDG_DATA_HOME`. */
function dataFolder(env: NodeJS.ProcessEnv, uid: number): string {
  const data = env['XDG_DATA_HOME'];
  const base = data && isAbsolute(data) ? data : join(env['HOME'] || homedir(), '.local/share');
  return join(base, 'mend', String(uid));
}

/**
 * The home that a harness has for one project: in the user's own home, since it leads to the login there, wherever the
 * store is. Stores in other places than the user's own have other homes.
 * @param store folder of the store that the project is in
 * @param project its row id, which is never used again
 */
export function projectHome(
  env: NodeJS.ProcessEnv,
  uid: number,
  store: string,
  harness: string,
  project: number,
): string {
  const own = dataFolder(env, uid);
  const mark = store === own ? '' : `-${hash('sha256', store, 'hex').slice(0, 8)}`;
  return join(own, 'homes', harness, `${project}${mark}`);
}

/** True when the folder holds a store already; see `storeFolderExists` for what it refuses. */
export function storeExists(folder: string): boolean {
  return storeFolderExists(folder) && lstatSync(join(folder, STORE_FILE), { throwIfNoEntry: false }) !== undefined;
}

/**
 * True when the store's folder is there.
 * @throws {MendError} when it is something else than a folder of this user, or cannot be reached.
 */
export function storeFolderExists(folder: string): boolean {
  const elsewhere = 'set MEND_STORE_DIR to a folder of yours';
  try {
    const stat = lstatSync(folder, { throwIfNoEntry: false });
    if (!stat) return false;
    if (!stat.isDirectory())
      throw new MendError(`the store folder ${folder} is not a folder: move it away or ${elsewhere}`);
    if (stat.uid === process.getuid?.()) return true;
    throw new MendError(`the store folder ${folder} belongs to user ${stat.uid}, not to you: ${elsewhere}`);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new MendError(`the store folder ${folder} cannot be reached (${error.code}): ${elsewhere}`, { cause: error });
  }
}
