import { closeSync, constants } from 'node:fs';
import { join } from 'node:path';
import { openOwn } from '../../daemon/own-file.js';
import { locksAreKnown } from '../../daemon/runtime-files.js';
import { MendError } from '../../errors.js';
import { loadNative } from '../../fuse/native.js';
import { prepareOwnFolder } from '../people/system-folder.js';

/**
 * Keeps two administrators from crediting at once, as each would miss what the other does. Without the addon nobody can lock.
 * @returns ends it
 * @throws {MendError} when another one does
 */
export function lockCredits(): () => void {
  if (process.getuid?.() !== 0 || !locksAreKnown()) return () => undefined;
  const folder = prepareOwnFolder('credited', 0o700);
  const fd = openOwn(join(folder, 'lock'), constants.O_WRONLY | constants.O_APPEND);
  if (loadNative().lockFile(fd) === 0) return () => closeSync(fd);
  closeSync(fd);
  throw new MendError('another "mend credit" runs on this machine: wait until it has ended, and try again');
}
