import { fchmodSync, fstatSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError, MendError } from '../../errors.js';
import { HeldFolder } from '../../import/held-folder.js';
import { systemFolder } from '../../store/location.js';

/** Others may change what lies in it. */
const WRITABLE = 0o022;
/** Everybody may look into it. */
const OPEN = 0o755;

/** A path in the folder of what is the machine's: people's stores, and records that are root's. */
export function systemPath(...names: readonly string[]): string {
  return join(systemFolder(process.env), ...names);
}

/**
 * Opens that folder; undefined where there is none and it is not to be made. It is root's, and only root can change what
 * is in it, so a name in it leads where root had it lead.
 * @throws {MendError} when it is something else.
 */
export function openSystemFolder(make: true): HeldFolder;
export function openSystemFolder(make: boolean): HeldFolder | undefined;
export function openSystemFolder(make: boolean): HeldFolder | undefined {
  const path = systemPath();
  if (!lstatSync(path, { throwIfNoEntry: false })) {
    if (!make) return undefined;
    mkdirSync(path, { recursive: true, mode: OPEN });
  }
  return checked(() => HeldFolder.open(path), path, make ? OPEN : 0);
}

/**
 * Opens a folder of root's own in it.
 * @param mode with which it is made where it is missing; undefined when it is not to be made
 * @throws {MendError} when something else is in its place.
 */
export function openOwnFolder(system: HeldFolder, name: string, mode: number): HeldFolder;
export function openOwnFolder(system: HeldFolder, name: string, mode: undefined): HeldFolder | undefined;
export function openOwnFolder(system: HeldFolder, name: string, mode: number | undefined): HeldFolder | undefined {
  if (!lstatSync(system.at(name), { throwIfNoEntry: false })) {
    if (mode === undefined) return undefined;
    mkdirSync(system.at(name), { mode });
  }
  return checked(() => system.enter(name), systemPath(name), mode ?? 0);
}

/**
 * Makes sure of a folder of root's own there, and of the one that it is in.
 * @returns its path
 * @throws {MendError} when something else is in the place of either.
 */
export function prepareOwnFolder(name: string, mode: number): string {
  const system = openSystemFolder(true);
  try {
    openOwnFolder(system, name, mode).close();
  } finally {
    system.close();
  }
  return systemPath(name);
}

/** @param mode what it has to allow, whatever the umask was */
function checked(open: () => HeldFolder, path: string, mode: number): HeldFolder {
  const held = openFolder(open, path);
  try {
    const stat = fstatSync(held.fd);
    if (stat.uid !== 0)
      throw new MendError(`${path} belongs to user ${stat.uid}, not to root: look at what is in it, and move it away`);
    if ((stat.mode & WRITABLE) !== 0)
      throw new MendError(`others may write ${path}: look at what is in it, and run "chmod 755 ${path}"`);
    if ((stat.mode & mode) !== mode) fchmodSync(held.fd, mode);
    return held;
  } catch (error) {
    held.close();
    throw error;
  }
}

/** @throws {MendError} when there is something else than a folder, or one that even root may not look into, as in fuse(4). */
export function openFolder(open: () => HeldFolder, path: string): HeldFolder {
  try {
    return open();
  } catch (error) {
    if (isSystemError(error, 'EACCES', 'ENOTCONN'))
      throw new MendError(`${path} ${coveredFault(error)}: take that off`, { cause: error });
    if (!isSystemError(error, 'ELOOP', 'ENOTDIR')) throw error;
    throw new MendError(`${path} is not a folder but something in its place: move it away`, { cause: error });
  }
}

/** What is wrong with something of a person that root may not look at; goes on after its name. */
export function coveredFault({ code }: NodeJS.ErrnoException): string {
  return `cannot be looked into (${code}), as when something is mounted over it`;
}
