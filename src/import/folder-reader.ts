import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { isSystemError } from '../errors.js';
import { storableTime } from '../ports/clock.js';
import { DEPTH_MAX, nameFault } from '../ports/limits.js';

/** A regular file found in a folder. */
export interface FoundFile {
  /** Relative to the folder, `/` between names. */
  readonly path: string;
  readonly bytes: Buffer;
  /** µs since the epoch. */
  readonly mtime: number;
}

/** Something in a folder that cannot be memory, and why. */
export interface Skipped {
  readonly path: string;
  readonly reason: string;
}

/** Reads a memory folder: regular files only, links are never followed. Each file is handed over as it is read. */
export function readFolder(
  folder: string,
  isLocal: (path: string) => boolean,
  fileBytes: number,
  found: (file: FoundFile) => void,
): Skipped[] {
  const skipped: Skipped[] = [];
  const visit = (relative: string, depth: number): void => {
    let names: Buffer[];
    try {
      names = readdirSync(relative === '' ? folder : `${folder}/${relative}`, { encoding: 'buffer' });
    } catch (error) {
      if (!isSystemError(error)) throw error;
      skipped.push({ path: relative || '.', reason: `cannot be read (${error.code})` });
      return;
    }
    for (const raw of names.sort(Buffer.compare)) {
      const name = raw.toString();
      const path = relative === '' ? name : `${relative}/${name}`;
      const reason =
        !isUtf8(raw) || nameFault(name) ? 'name is not valid UTF-8' : depth > DEPTH_MAX ? 'lies too deep' : undefined;
      if (reason) skipped.push({ path, reason });
      else if (!isLocal(path)) visitEntry(path, depth);
    }
  };
  const visitEntry = (path: string, depth: number): void => {
    let file: { bytes: Buffer; mtime: number } | undefined;
    try {
      const stat = lstatSync(`${folder}/${path}`);
      if (stat.isDirectory()) visit(path, depth + 1);
      else if (stat.isSymbolicLink()) skipped.push({ path, reason: 'is a symbolic link' });
      else if (!stat.isFile()) skipped.push({ path, reason: 'is not a regular file' });
      else if (stat.size > fileBytes) skipped.push({ path, reason: `is larger than ${fileBytes} bytes` });
      else {
        file = readWhole(`${folder}/${path}`, fileBytes);
        if (!file) skipped.push({ path, reason: 'changed while it was read' });
      }
    } catch (error) {
      if (!isSystemError(error)) throw error;
      skipped.push({ path, reason: `cannot be read (${error.code})` });
    }
    // Outside the handler: a store that fails is no fault of the file.
    if (file) found({ path, ...file });
  };
  visit('', 1);
  return skipped;
}

/** Bytes and time of a file; undefined when it grew or shrank meanwhile. */
function readWhole(file: string, most: number): { bytes: Buffer; mtime: number } | undefined {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const before = fstatSync(fd, { bigint: true });
    if (!before.isFile()) return undefined;
    const bytes = Buffer.alloc(Math.min(Number(before.size), most) + 1);
    let length = 0;
    for (;;) {
      const count = readSync(fd, bytes, length, bytes.length - length, null);
      length += count;
      if (count === 0 || length === bytes.length) break;
    }
    const after = fstatSync(fd, { bigint: true });
    if (length !== Number(before.size) || after.size !== before.size || after.mtimeNs !== before.mtimeNs)
      return undefined;
    return { bytes: bytes.subarray(0, length), mtime: storableTime(Number(before.mtimeNs / 1000n)) };
  } finally {
    closeSync(fd);
  }
}
