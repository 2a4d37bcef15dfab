import { lstatSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isSystemError } from '../errors.js';

/** Which file lies at a path, whatever its name and content: device and inode; undefined when none does. */
export function identityOf(path: string): string | undefined {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && identity(stat);
}

function identity({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}

/** What a descriptor's link in proc_pid_fd(5) says behind the path of a file that was removed. */
const REMOVED = ' (deleted)';

/** The files of one of the names of `path` that a process has open; undefined when nobody can tell. */
export function openFiles(pid: string, path: string): Set<string> | undefined {
  const folder = `/proc/${pid}/fd`;
  const found = new Set<string>();
  try {
    for (const fd of readdirSync(folder)) {
      // The name first: to ask for a file in a mount could mean to wait for oneself.
      const link = ifThere(() => readlinkSync(join(folder, fd)));
      if (link === undefined || nameIn(link) !== basename(path)) continue;
      const stat = ifThere(() => statSync(join(folder, fd), { bigint: true }));
      if (stat) found.add(identity(stat));
    }
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
  return found;
}

function nameIn(link: string): string {
  return basename(link.endsWith(REMOVED) ? link.slice(0, -REMOVED.length) : link);
}

/** Undefined for a descriptor that is closed meanwhile. */
function ifThere<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}
