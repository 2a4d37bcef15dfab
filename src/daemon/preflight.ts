import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isSystemError, MendError } from '../errors.js';
import { FUSE_CLOSED, FUSE_FORBIDDEN, FUSE_MISSING, NO_FUSERMOUNT } from '../fuse/fusermount.js';
import { loadNative } from '../fuse/native.js';

/**
 * Checks, before anything is made or changed, that FUSE can be used: the addon, the device, the helper.
 * @throws {MendError} with what is missing.
 */
export function checkFuse(): void {
  loadNative();
  try {
    closeSync(openSync('/dev/fuse', constants.O_RDWR));
  } catch (error) {
    if (isSystemError(error, 'EACCES')) throw new MendError(FUSE_CLOSED);
    if (isSystemError(error, 'EPERM')) throw new MendError(FUSE_FORBIDDEN);
    throw new MendError(FUSE_MISSING, { cause: error });
  }
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  if (!folders.some((folder) => isProgram(join(folder, 'fusermount3')))) throw new MendError(NO_FUSERMOUNT);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
