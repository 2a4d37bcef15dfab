import { chmodSync, closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync } from 'node:fs';
import { isSystemError, MendError } from '../errors.js';

const { O_NOFOLLOW, O_NONBLOCK, O_CREAT } = constants;

function inTheWay(path: string, what: string): MendError {
  return new MendError(`${path} ${what}: remove it, and mend makes it anew`);
}

/**
 * Opens a file that a daemon keeps for itself, made when it is missing. Follows no link, and waits for nobody.
 * @throws {MendError} when something else is in its place, or it belongs to somebody else
 * @throws {NodeJS.ErrnoException} as open(2) does otherwise, as on a full disk
 */
export function openOwn(path: string, flags: number): number {
  let fd: number;
  try {
    fd = openSync(path, flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    if (isSystemError(error, 'ELOOP', 'EISDIR', 'ENXIO')) throw inTheWay(path, 'is not a regular file');
    if (isSystemError(error, 'EACCES')) throw inTheWay(path, 'may not be written');
    throw error;
  }
  const { uid } = fstatSync(fd);
  const fault = fstatSync(fd).isFile() ? ownerFault(uid) : 'is not a regular file';
  if (!fault) return fd;
  closeSync(fd);
  throw inTheWay(path, fault);
}

function ownerFault(uid: number): string | undefined {
  return uid === process.getuid?.() ? undefined : `belongs to user ${uid}, not to you`;
}

/**
 * Makes the folder of a daemon's own files, for its owner alone, in the folder of a store.
 * @throws {MendError} when something else is in its place, or it belongs to somebody else
 */
export function prepareOwnFolder(path: string): void {
  if (!ownFolderExists(path)) mkdirSync(path, { recursive: true, mode: 0o700 });
  else if ((lstatSync(path).mode & 0o777) !== 0o700) chmodSync(path, 0o700);
}

/**
 * True when that folder is there.
 * @throws {MendError} when something else is in its place, or it belongs to somebody else
 */
export function ownFolderExists(path: string): boolean {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (!there) return false;
  const fault = there.isDirectory() ? ownerFault(there.uid) : 'is not a folder';
  if (fault) throw inTheWay(path, fault);
  return true;
}

/** Makes sure that nothing but a socket, or a file, lies where a socket is to be; it is removed by the caller. */
export function refuseFolder(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) throw inTheWay(path, 'is a folder');
}
