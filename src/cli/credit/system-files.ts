import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isSystemError } from '../../errors.js';
import { sync } from '../../store/durable.js';

/** Largest file of this kind that is read, in bytes. */
const LARGEST = 64 * 1024 ** 2;

/** Replaces a file as a whole, or not at all. @param mode whatever the umask is */
export function replaceFile(path: string, text: string, mode: number): void {
  const stage = `${path}.tmp`;
  // Of one who was killed.
  rmSync(stage, { force: true });
  try {
    const fd = openSync(stage, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      writeFileSync(fd, text);
      fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
    sync(stage);
    renameSync(stage, path);
  } catch (error) {
    rmSync(stage, { force: true });
    throw error;
  }
}

/** The text of a file of root's; undefined when there is none, or it is somebody else's. */
export function readSystemFile(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    return stat.isFile() && stat.uid === 0 && stat.size <= LARGEST ? readFileSync(fd, 'utf8') : undefined;
  } finally {
    closeSync(fd);
  }
}
