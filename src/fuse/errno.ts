import { constants } from 'node:os';
import { describeError, log } from '../log.js';

/** Positive errno values of this system, by name. */
export const errno = constants.errno;

/** Names of errno values that the store's errors stand for. */
const sqliteErrno: readonly (readonly [prefix: string, value: number])[] = [
  ['SQLITE_FULL', errno.ENOSPC],
  // The index of the write-ahead log cannot grow: the disk is full.
  ['SQLITE_IOERR_SHMSIZE', errno.ENOSPC],
  ['SQLITE_IOERR', errno.EIO],
  ['SQLITE_READONLY', errno.EROFS],
  ['SQLITE_BUSY', errno.EAGAIN],
];

/**
 * Maps any thrown value to the errno that the caller of the system call gets: a system error's own, a store
 * error's nearest, else EIO with a line in the log, so that a fault never takes the mount down.
 */
export function errnoOf(error: unknown): number {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const own = (errno as Record<string, number>)[code];
  if (own !== undefined) return own;
  log('error', 'operation failed', { code, error: describeError(error) });
  return sqliteErrno.find(([prefix]) => code.startsWith(prefix))?.[1] ?? errno.EIO;
}
