import { closeSync, constants, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { isSystemError } from '../errors.js';

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY;

/**
 * Brings the names in a folder to the disk: a file that was made, renamed or removed is sure to be so only then,
 * whatever was done for its bytes (fsync(2)).
 * @throws {NodeJS.ErrnoException} as open(2) and fsync(2) do.
 */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, FOLDER);
  try {
    fsyncSync(fd);
  } catch (error) {
    // A file system that has nothing to sync in a folder says so.
    if (!isSystemError(error, 'EINVAL')) throw error;
  } finally {
    closeSync(fd);
  }
}

/** The same for a folder and all those that it lies in, any of which may have been made just now. */
export function syncFolders(folder: string): void {
  for (let at = folder; ; at = dirname(at)) {
    try {
      syncFolder(at);
    } catch (error) {
      // A folder that may be entered and not read is not one that we have made; one on a read-only disk neither.
      if (!isSystemError(error, 'EACCES', 'EPERM', 'EROFS')) throw error;
    }
    if (at === dirname(at)) return;
  }
}
