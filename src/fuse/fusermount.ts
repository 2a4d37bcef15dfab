import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { isSystemError, MendError } from '../errors.js';
import type { Native } from './native.js';

/** Options of every mount: nobody but its owner may enter, and nothing in it can be run or is a device (spec §3.4). */
const MOUNT_OPTIONS = 'rw,nosuid,nodev,noexec,fsname=mend,subtype=mend';
export const NO_FUSERMOUNT = 'fusermount3 is not installed: install the package fuse3 ("apt install fuse3" on Debian)';

export const FUSE_CLOSED = '/dev/fuse is closed to you: have an administrator run "chmod 0666 /dev/fuse"';
export const FUSE_MISSING =
  'there is no FUSE here: load it with "modprobe fuse" as root, or let the container have /dev/fuse';
export const FUSE_FORBIDDEN = 'FUSE mounts are not permitted here: allow the container or sandbox to mount FUSE';

/** What fusermount3 says in its own words, and what to tell a person. */
const explanations: readonly (readonly [pattern: RegExp, sentence: string])[] = [
  [/\/dev\/fuse: Permission denied/, FUSE_CLOSED],
  [/device not found|\/dev\/fuse: No such/, FUSE_MISSING],
  [/Operation not permitted/, FUSE_FORBIDDEN],
  [/too many FUSE filesystems/, 'you have as many FUSE mounts as mount_max in /etc/fuse.conf allows: unmount one'],
];

/** Descriptor of the mount point in fusermount3. */
const HELD = 4;

interface Ended {
  readonly status: number | null;
  readonly complaint: string;
}

function ended(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve, reject) => {
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint += text;
    });
    child.on('error', (error) => {
      reject(isSystemError(error, 'ENOENT') ? new MendError(NO_FUSERMOUNT) : error);
    });
    child.on('close', (status) => resolve({ status, complaint: complaint.trim() }));
  });
}

function explain(action: string, path: string, { complaint, status }: Ended): MendError {
  const known = explanations.find(([pattern]) => pattern.test(complaint));
  if (known) return new MendError(known[1]);
  const words = complaint.replace(/^fusermount3: /, '').split('\n')[0] || `fusermount3 ended with status ${status}`;
  return new MendError(`cannot ${action} ${path}: ${words}`);
}

/**
 * Has fusermount3 mount a FUSE file system as the calling user, and takes over its `/dev/fuse` descriptor
 * (non-blocking, close-on-exec). The mount point's checks are fusermount3's (mount.fuse3(8)).
 * @param folder a descriptor of the mount point, from which fusermount3 learns its path. It follows the path once more
 *   itself, so whoever calls has to look where the mount came up.
 * @throws {MendError} when fusermount3 is missing or refuses.
 */
export async function mountWithFusermount(native: Native, path: string, folder?: number): Promise<number> {
  const pair = native.socketPair();
  if (typeof pair === 'number') throw new MendError(`cannot mount on ${path}: no sockets left (errno ${-pair})`);
  const [ours, theirs] = pair;
  try {
    const point = folder === undefined ? path : `/proc/self/fd/${HELD}/.`;
    const child = spawn('fusermount3', ['-o', MOUNT_OPTIONS, '--', point], {
      cwd: '/',
      env: { ...process.env, _FUSE_COMMFD: '3', LC_ALL: 'C' },
      stdio: ['ignore', 'ignore', 'pipe', theirs, folder ?? 'ignore'],
    });
    const end = await ended(child);
    const fd = end.status === 0 ? native.receiveDescriptor(ours) : -1;
    if (fd < 0) throw explain('mount on', path, end);
    return fd;
  } finally {
    native.closeDescriptor(ours);
    native.closeDescriptor(theirs);
  }
}

/** How often, and after how many ms, a mount that is busy is tried again. */
const ATTEMPTS = 6;
const PAUSE = 50;

/**
 * Has fusermount3 take a mount off.
 * @param lazy takes the name away at once and lets open files finish (fusermount3 -z)
 * @throws {MendError} when it cannot, for instance while files are open and `lazy` is false.
 */
export async function unmountWithFusermount(path: string, lazy: boolean): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const child = spawn('fusermount3', ['-u', ...(lazy ? ['-z'] : []), '--', path], {
      cwd: '/',
      env: { ...process.env, LC_ALL: 'C' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const end = await ended(child);
    if (end.status === 0) return;
    // Whoever only looks at a file holds the mount for an instant.
    if (lazy || attempt === ATTEMPTS || !/busy/i.test(end.complaint)) throw explain('unmount', path, end);
    await delay(PAUSE);
  }
}
