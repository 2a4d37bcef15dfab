import { readFileSync } from 'node:fs';
import { MendError } from '../errors.js';
import { identityOf, openFiles } from './identity.js';

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
  /** Which file is the database, and which one its log. */
  readonly database: string | undefined;
  readonly log: string | undefined;
  #trustedUntil = 0;

  /** @param file the database, which is open already, as is its log */
  constructor(file: string) {
    this.#file = file;
    this.database = identityOf(file);
    this.log = identityOf(`${file}-wal`);
  }

  /** Undefined while everything is in its place. */
  get fault(): PlaceFault | undefined {
    if (identityOf(this.#file) !== this.database) return 'database';
    return identityOf(`${this.#file}-wal`) === this.log ? undefined : 'log';
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

/** A lock of proc_locks(5): who has it, and the file's inode. */
const LOCK = /^\d+: POSIX\s+ADVISORY\s+(?:READ|WRITE)\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+) /;

/**
 * True when a process uses a store of which only the index of its log is in this place: another file, or none, is where
 * its database was. To open that one would mix it with the log of the other.
 */
export function isDisplaced(file: string): boolean {
  // Twice, since a process that opens or closes a store does so with the two files one after the other.
  return usesIndexAlone(file) && usesIndexAlone(file);
}

/**
 * Whoever has locked an inode of that number is looked at: another device may have it, too, and there are file systems on
 * which a lock names another inode than the file has.
 */
function usesIndexAlone(file: string): boolean {
  const index = identityOf(`${file}-shm`);
  if (index === undefined) return false;
  const database = identityOf(file);
  const inode = index.slice(index.indexOf(':') + 1);
  const suspects = new Set<string>();
  for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
    const [, pid, node] = LOCK.exec(line) ?? [];
    if (pid !== undefined && node === inode) suspects.add(pid);
  }
  return [...suspects].some((pid) => {
    if (openFiles(pid, `${file}-shm`)?.has(index) !== true) return false;
    return openFiles(pid, file)?.has(database ?? '') === false;
  });
}
