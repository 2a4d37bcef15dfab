import { closeSync, fsyncSync, linkSync, lstatSync, openSync, renameSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { isSystemError } from '../errors.js';

/** Returns when the bytes of a file, or the names in a folder, are on the disk. */
export function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } catch (error) {
    // Some file systems flush no folders (fsync(2)).
    if (!isSystemError(error, 'EINVAL')) throw error;
  } finally {
    closeSync(fd);
  }
}

/**
 * Gives a complete file its name, which nothing may have yet; it is on the disk when this returns.
 * @throws an `EEXIST` of the system when something has the name.
 */
export function placeNew(stage: string, target: string): void {
  sync(stage);
  try {
    // Unlike a rename, a link never replaces what somebody else put there meanwhile.
    linkSync(stage, target);
    unlinkSync(stage);
  } catch (error) {
    if (!isSystemError(error, 'EPERM', 'ENOSYS', 'EOPNOTSUPP', 'ENOTSUP')) throw error;
    if (lstatSync(target, { throwIfNoEntry: false }))
      throw Object.assign(new Error(`${target} exists`), { code: 'EEXIST' });
    renameSync(stage, target);
  }
  sync(dirname(target));
}
