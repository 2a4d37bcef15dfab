import { fchmodSync, fchownSync, fstatSync, lstatSync, mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { isSystemError, MendError } from '../../errors.js';
import { HeldFolder } from '../../import/held-folder.js';
import { SYSTEM_FOLDER } from '../../store/location.js';
import type { Account } from './account.js';

/** Others may change what lies in it. */
const WRITABLE = 0o022;
const OPEN = 0o755;
const PRIVATE = 0o700;

/**
 * Opens the folder in which people's stores lie; undefined where there is none and it is not to be made. It is root's, and
 * only root can change what is in it, so a name in it leads where root had it lead.
 * @throws {MendError} when it is something else.
 */
export function openSystemFolder(make: boolean): HeldFolder | undefined {
  if (!lstatSync(SYSTEM_FOLDER, { throwIfNoEntry: false })) {
    if (!make) return undefined;
    mkdirSync(SYSTEM_FOLDER, { recursive: true, mode: OPEN });
  }
  const held = openFolder(() => HeldFolder.open(SYSTEM_FOLDER), SYSTEM_FOLDER);
  try {
    refuseForeign(held, SYSTEM_FOLDER);
    if (make) openToAll(held);
    return held;
  } catch (error) {
    held.close();
    throw error;
  }
}

/**
 * Opens a folder of root's own in that folder, as `openSystemFolder` does.
 * @throws {MendError} when something else is in its place.
 */
export function openOwnFolder(system: HeldFolder, name: string, make: boolean): HeldFolder | undefined {
  const path = `${SYSTEM_FOLDER}/${name}`;
  if (!lstatSync(system.at(name), { throwIfNoEntry: false })) {
    if (!make) return undefined;
    mkdirSync(system.at(name), { mode: OPEN });
  }
  const held = openFolder(() => system.enter(name), path);
  try {
    refuseForeign(held, path);
    return held;
  } catch (error) {
    held.close();
    throw error;
  }
}

function openFolder(open: () => HeldFolder, path: string): HeldFolder {
  try {
    return open();
  } catch (error) {
    if (!isSystemError(error, 'ELOOP', 'ENOTDIR')) throw error;
    throw new MendError(`${path} is not a folder but something in its place: move it away`, { cause: error });
  }
}

function refuseForeign({ fd }: HeldFolder, path: string): void {
  const { uid, mode } = fstatSync(fd);
  if (uid !== 0)
    throw new MendError(`${path} belongs to user ${uid}, not to root: look at what is in it, and move it away`);
  if ((mode & WRITABLE) !== 0)
    throw new MendError(`others may write ${path}: look at what is in it, and run "chmod 755 ${path}"`);
}

function openToAll({ fd }: HeldFolder): void {
  if ((fstatSync(fd).mode & OPEN) !== OPEN) fchmodSync(fd, OPEN);
}

/** Where the store of a person lies that an administrator set up. */
export function storeFolderOf(uid: number): string {
  return `${SYSTEM_FOLDER}/${uid}`;
}

/**
 * Makes the folder of a person's store, theirs alone; leaves one that is there.
 * @throws {MendError} when it is no folder, or somebody else's.
 */
export function prepareStoreFolder(system: HeldFolder, { name, uid, gid }: Account): void {
  const path = storeFolderOf(uid);
  if (!lstatSync(system.at(String(uid)), { throwIfNoEntry: false })) makeStoreFolder(system, uid, gid);
  const held = openFolder(() => system.enter(String(uid)), path);
  try {
    const stat = fstatSync(held.fd);
    if (stat.uid !== uid)
      throw new MendError(
        `${path} belongs to user ${stat.uid}, not to "${name}": look at whose memory it is, and move it away`,
      );
    if ((stat.mode & 0o777) !== PRIVATE) fchmodSync(held.fd, PRIVATE);
  } finally {
    held.close();
  }
}

/** It has its name only once it is as it is to be. */
function makeStoreFolder(system: HeldFolder, uid: number, gid: number): void {
  const fresh = system.at(`.${uid}.new`);
  if (lstatSync(fresh, { throwIfNoEntry: false })) rmdirSync(fresh);
  mkdirSync(fresh, { mode: PRIVATE });
  const held = HeldFolder.open(fresh);
  try {
    fchownSync(held.fd, uid, gid);
    fchmodSync(held.fd, PRIVATE);
    renameSync(fresh, system.at(String(uid)));
    system.sync();
  } finally {
    held.close();
  }
}
