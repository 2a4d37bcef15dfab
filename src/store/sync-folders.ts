import { dirname } from 'node:path';
import { isSystemError } from '../errors.js';
import { sync } from './durable.js';

/**
 * Brings the names of a folder and of all those that it lies in to the disk: any of them may have been made just now.
 * @throws {NodeJS.ErrnoException} as open(2) and fsync(2) do.
 */
export function syncFolders(folder: string): void {
  for (let at = folder; ; at = dirname(at)) {
    try {
      sync(at);
    } catch (error) {
      // A folder that may be entered and not read is not one that was made for this; nor is one on a read-only disk.
      if (!isSystemError(error, 'EACCES', 'EPERM', 'EROFS')) throw error;
    }
    if (at === dirname(at)) return;
  }
}
