import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, type Stats } from 'node:fs';
import { isSystemError } from '../errors.js';
import { storableTime } from '../ports/clock.js';
import { DEPTH_MAX, nameFault } from '../ports/limits.js';
import { HeldFolder } from './held-folder.js';

/** A regular file of a folder, as it was read. */
export interface FoundFile {
  readonly bytes: Buffer;
  /** µs since the epoch. */
  readonly mtime: number;
}

/** Something in a folder that is not taken as memory, and why. */
export interface Skipped {
  readonly path: string;
  /** Goes on after "it". */
  readonly reason: string;
}

/** What lies in a folder. Paths are relative to it, `/` between names. */
export interface FolderListing {
  /** Regular files that may be memory. */
  readonly files: readonly string[];
  readonly skipped: readonly Skipped[];
}

/** Times that a file is read again when it changed meanwhile. */
const TRIES = 5;

/**
 * Lists a memory folder: regular files, in the order of their names. Links are never followed, nor mounts in the folder:
 * each folder is read through a handle on it, so that nothing which takes its place meanwhile leads elsewhere.
 */
export function listFolder(folder: string, isLocal: (path: string) => boolean, fileBytes: number): FolderListing {
  const files: string[] = [];
  const skipped: Skipped[] = [];
  let device: number | undefined;
  const visit = (held: HeldFolder, relative: string, depth: number): void => {
    const names = attempt(relative || '.', skipped, () => readdirSync(held.at(), { encoding: 'buffer' }));
    for (const raw of names?.sort(Buffer.compare) ?? []) {
      const name = raw.toString();
      const path = relative === '' ? name : `${relative}/${name}`;
      const reason =
        !isUtf8(raw) || nameFault(name)
          ? 'has a name that is not valid UTF-8'
          : depth > DEPTH_MAX
            ? 'lies too deep'
            : undefined;
      if (reason) skipped.push({ path, reason });
      else if (!isLocal(path)) visitEntry(held, name, path, depth);
    }
  };
  const visitEntry = (held: HeldFolder, name: string, path: string, depth: number): void => {
    const stat = attempt(path, skipped, () => lstatSync(held.at(name)));
    const folder = attempt(path, skipped, () => fstatSync(held.fd));
    if (!stat || !folder) return;
    const reason = stat.isDirectory()
      ? stat.dev === device
        ? undefined
        : 'lies on another file system, as in a mount'
      : (refusal(stat, fileBytes) ?? plantedFault(stat, folder));
    if (reason) skipped.push({ path, reason });
    else if (!stat.isDirectory()) files.push(path);
    else enter(path, () => held.enter(name), depth + 1);
  };
  const enter = (path: string, open: () => HeldFolder, depth: number): void => {
    const held = attempt(path || '.', skipped, open);
    if (!held) return;
    try {
      device ??= lstatSync(held.at('.')).dev;
      visit(held, path, depth);
    } finally {
      held.close();
    }
  };
  enter('', () => HeldFolder.open(folder), 1);
  return { files, skipped };
}

/** Reads one file of a listing, or tells why that cannot be done. */
export function readListed(folder: string, path: string, fileBytes: number): FoundFile | Skipped {
  const skipped: Skipped[] = [];
  const names = path.split('/');
  const name = names.pop() ?? '';
  const file = attempt(path, skipped, () => {
    const held = HeldFolder.walk(folder, names);
    if (!(held instanceof HeldFolder)) return held === 'missing' ? 'is gone' : 'lies in a folder that became a link';
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        const read = readWhole(held.at(name), fileBytes, fstatSync(held.fd));
        if (read) return read;
      }
      return 'changed while it was read';
    } finally {
      held.close();
    }
  });
  if (file === undefined) return skipped[0] ?? { path, reason: 'cannot be read' };
  return typeof file === 'string' ? { path, reason: file } : file;
}

/** Does something with a path; where the system refuses, that is noted, and undefined returned. */
function attempt<T>(path: string, skipped: Skipped[], work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const link = error.code === 'ELOOP';
    skipped.push({ path, reason: link ? 'is a symbolic link' : `cannot be read (${error.code})` });
    return undefined;
  }
}

/** Why something that is no folder is not memory. */
function refusal(stat: Pick<Stats, 'isSymbolicLink' | 'isFile'> & { size: number }, fileBytes: number) {
  if (stat.isSymbolicLink()) return 'is a symbolic link';
  if (!stat.isFile()) return 'is not a regular file';
  return stat.size > fileBytes ? `is larger than ${fileBytes} bytes` : undefined;
}

/** Others may put names into it. */
const WRITABLE = 0o022;

/**
 * Root may read what whoever can write in a folder may not: a name that they gave to a file of somebody else is not taken.
 * Where `fs.protected_hardlinks` is 0 anybody can do that, see proc_sys_fs(5). Everybody else reads what they may read.
 */
function plantedFault(file: Named, folder: Pick<Stats, 'uid' | 'mode'>): string | undefined {
  if (process.geteuid?.() !== 0 || file.nlink < 2) return undefined;
  const isSafe = file.uid === folder.uid && (folder.mode & WRITABLE) === 0;
  return isSafe ? undefined : "has a second name, and may be somebody else's";
}

type Named = Pick<Stats, 'uid' | 'nlink'>;

/** Bytes and time of a file, or why it is not taken; undefined when it changed meanwhile. */
function readWhole(file: string, most: number, folder: Stats): FoundFile | string | undefined {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const before = fstatSync(fd, { bigint: true });
    const size = Number(before.size);
    const named = { uid: Number(before.uid), nlink: Number(before.nlink) };
    const reason =
      refusal({ isSymbolicLink: () => false, isFile: () => before.isFile(), size }, most) ??
      plantedFault(named, folder);
    if (reason) return reason;
    const bytes = Buffer.alloc(size + 1);
    let length = 0;
    for (;;) {
      const count = readSync(fd, bytes, length, bytes.length - length, null);
      length += count;
      if (count === 0 || length === bytes.length) break;
    }
    const after = fstatSync(fd, { bigint: true });
    if (length !== size || after.size !== before.size || after.mtimeNs !== before.mtimeNs) return undefined;
    return { bytes: bytes.subarray(0, length), mtime: storableTime(Number(before.mtimeNs / 1000n)) };
  } finally {
    closeSync(fd);
  }
}
