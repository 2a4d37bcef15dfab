import { hash } from 'node:crypto';
import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
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
 * @throws {MendError} when `MEND_STORE_DIR` is not absolute, or nobody can tell what the administrator's folder is.
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
  if (!isFolder(system)) return own;
  return isEmpty(system) && holdsStore(own) ? own : system;
}

/** @throws {MendError} when that cannot be told: another store than the one in it must not be taken for it. */
function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const how = isSystemError(error, 'ENOTCONN') ? `run "fusermount3 -uz ${path}"` : 'ask an administrator';
    throw new MendError(`the store folder ${path} cannot be looked into (${error.code}): ${how}`, { cause: error });
  }
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

/** Which project of which store a home is for. */
export interface HomeOwner {
  /** Folder of the store, however it is written. */
  readonly store: string;
  /** The project: one of another store, or of another state of this one, may have the number, but not its time as well. */
  readonly project: { readonly id: number; readonly created: number };
}

/** The folder with the homes of a harness: in the user's own home, since they lead to the login there, wherever a store is. */
export function homesFolder(env: NodeJS.ProcessEnv, uid: number, harness: string): string {
  return join(dataFolder(env, uid), 'homes', harness);
}

/** Name of the home that a harness has for one project. Stores in other places than the user's own have other homes. */
export function homeName(env: NodeJS.ProcessEnv, uid: number, { store, project }: HomeOwner): string {
  return `${project.id}-${project.created.toString(36)}${placeMark(realOf(store), realOf(dataFolder(env, uid)))}`;
}

/** Names that earlier releases gave to such a home: by the number alone, so it may be another project's. */
export function earlierHomeNames(env: NodeJS.ProcessEnv, uid: number, { store, project }: HomeOwner): string[] {
  const own = dataFolder(env, uid);
  const marks = [placeMark(store, own), placeMark(realOf(store), realOf(own))];
  return [...new Set(marks.map((mark) => `${project.id}${mark}`))];
}

function placeMark(store: string, own: string): string {
  return store === own ? '' : `-${hash('sha256', store, 'hex').slice(0, 8)}`;
}

/** A folder under the one path that it has, if it is there. */
function realOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (error) {
    if (isSystemError(error)) return resolve(folder);
    throw error;
  }
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
