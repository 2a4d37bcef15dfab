import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSystemError, MendError } from '../errors.js';

/** How long, in ms, it is taken for granted that the files are where they were. */
const TRUSTED = 200;

/** What became of a store's files while they are in use. */
export type PlaceFault =
  /** Another file, or none, is where the database was: what is written would be found by nobody. */
  | 'database'
  /** The same of the write-ahead log: what is not in the database yet would be lost. */
  | 'log';

/** Where a store's files are, which somebody may move, remove or replace while they are in use. */
export class StorePlace {
  readonly #file: string;
  readonly #database: bigint | undefined;
  readonly #log: bigint | undefined;
  #trustedUntil = 0;

  /** @param file the database, which is open already, as is its log */
  constructor(file: string) {
    this.#file = file;
    this.#database = inode(file);
    this.#log = inode(`${file}-wal`);
  }

  /** Undefined while everything is in its place. */
  get fault(): PlaceFault | undefined {
    if (inode(this.#file) !== this.#database) return 'database';
    return inode(`${this.#file}-wal`) === this.#log ? undefined : 'log';
  }

  /**
   * Looks now and then whether the database is in its place.
   * @throws {MendError} with code EIO when it is not
   */
  check(): void {
    const now = performance.now();
    if (now < this.#trustedUntil) return;
    if (this.fault === 'database') throw Object.assign(displaced(this.#file), { code: 'EIO' });
    this.#trustedUntil = now + TRUSTED;
  }
}

/** The error for a store whose file is not what its daemon has open. */
export function displaced(file: string): MendError {
  return new MendError(
    `the store ${file} was moved, removed or replaced while it is in use, and nothing is written until it is back: put it back, or run "mend unmount --all"`,
  );
}

function inode(path: string): bigint | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/** A lock of proc_locks(5): who has it, and the file's inode. */
const LOCK = /^\d+: POSIX\s+ADVISORY\s+(?:READ|WRITE)\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+) /;

/**
 * True when a process uses a store of which only the index of its log is in this place: another file, or none, is where
 * its database was. To open that one would mix it with the log of the other.
 */
export function isDisplaced(file: string): boolean {
  const index = inode(`${file}-shm`);
  if (index === undefined) return false;
  // Twice, since a process that opens or closes a store takes the two locks one after the other.
  return usesIndexAlone(file, index) && usesIndexAlone(file, index);
}

function usesIndexAlone(file: string, index: bigint): boolean {
  const database = inode(file);
  const users = { index: new Set<string>(), database: new Set<string>() };
  for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
    const [, pid, node] = LOCK.exec(line) ?? [];
    if (pid === undefined || node === undefined) continue;
    if (BigInt(node) === index) users.index.add(pid);
    if (BigInt(node) === database) users.database.add(pid);
  }
  return [...users.index].some((pid) => !users.database.has(pid) && !hasOpen(pid, file));
}

/**
 * True when a process has a path open, or nobody can tell. A second witness: there are file systems on which a lock names
 * another inode than the file does.
 */
function hasOpen(pid: string, file: string): boolean {
  try {
    const real = join(realpathSync(dirname(file)), basename(file));
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((fd) => linkOf(join(folder, fd)) === real);
  } catch (error) {
    if (isSystemError(error)) return true;
    throw error;
  }
}

/** Undefined for a descriptor that is closed meanwhile. */
function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}
