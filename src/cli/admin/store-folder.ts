import { fchmodSync, fchownSync, fstatSync, lstatSync, mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { MendError } from '../../errors.js';
import { HeldFolder } from '../../import/held-folder.js';
import type { Account } from '../people/account.js';
import { openFolder, systemPath } from '../people/system-folder.js';

const PRIVATE = 0o700;

/** Where the store of a person lies that an administrator set up. */
export function storeFolderOf(uid: number): string {
  return systemPath(String(uid));
}

/**
 * Makes the folder of a person's store, theirs alone; leaves one that is there.
 * @throws {MendError} when it is no folder, or somebody else's.
 */
export function prepareStoreFolder(system: HeldFolder, { name, uid, gid }: Account): void {
  const path = storeFolderOf(uid);
  const held = openFolder(() => {
    if (!lstatSync(system.at(String(uid)), { throwIfNoEntry: false })) makeStoreFolder(system, uid, gid);
    return system.enter(String(uid));
  }, path);
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
