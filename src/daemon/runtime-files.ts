import { closeSync, constants, existsSync, openSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { loadNative } from '../fuse/native.js';
import { openOwn, ownFolderExists, prepareOwnFolder } from './own-file.js';

/**
 * A daemon serves one store in one mount namespace: what it mounts is seen only there. Its lock and control socket
 * lie in the store's folder and are named after the namespace, so that two namespaces can share a store.
 */
export interface RuntimeFiles {
  /** The namespace; also the owner of the daemon's drafts. */
  readonly owner: string;
  readonly folder: string;
  readonly lock: string;
  /** What open files are to a process that takes the mounts over. */
  readonly journal: string;
  /** Why the supervisor gave up, where it did. */
  readonly failure: string;
  /** Room on the disk for a server that takes over. */
  readonly room: string;
  /** Name of the control socket within `folder`. */
  readonly socket: string;
}

/** How often the lock is tried, and the pause between, in ms, while others look whether it is taken. */
const ATTEMPTS = 20;
const PAUSE = 5;

const NAMESPACE = /\[(\d+)\]$/;

export function runtimeFiles(storeFolder: string): RuntimeFiles {
  const owner = NAMESPACE.exec(readlinkSync('/proc/self/ns/mnt'))?.[1] ?? '0';
  const folder = join(storeFolder, 'run');
  const named = (end: string): string => join(folder, `${owner}.${end}`);
  return {
    ...{ owner, folder, lock: named('lock'), socket: `${owner}.sock` },
    ...{ journal: named('journal'), failure: named('failure'), room: named('room') },
  };
}

/**
 * Takes the daemon's lock, which lasts as long as its descriptor or a copy is open; undefined when another daemon has it.
 * @throws {MendError} when something else is in the place of the folder or the lock
 */
export function takeLock(files: RuntimeFiles): number | undefined {
  prepareOwnFolder(files.folder);
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let attempt = 1; ; attempt++) {
    const fd = openOwn(files.lock, constants.O_WRONLY | constants.O_APPEND);
    if (loadNative().lockFile(fd) === 0) return fd;
    closeSync(fd);
    if (attempt === ATTEMPTS) return undefined;
    // Somebody may only look whether it is taken.
    Atomics.wait(pause, 0, 0, PAUSE);
  }
}

/**
 * Tells whether a daemon has its lock, whether it answers or not. Without the addon nobody can look, and no daemon of
 * this installation can run.
 */
export function isLocked(files: RuntimeFiles, owner = files.owner): boolean {
  const path = join(files.folder, `${owner}.lock`);
  return existsSync(path) && locksAreKnown() && isHeld(path);
}

/** False without the addon. */
export function locksAreKnown(): boolean {
  try {
    loadNative();
    return true;
  } catch {
    return false;
  }
}

/** Shares the lock for a moment, so that several may look at once without seeing each other. */
function isHeld(path: string): boolean {
  // Over NFS a shared lock needs a file that is open for reading.
  const fd = openOwn(path, constants.O_RDWR | constants.O_APPEND);
  try {
    return loadNative().shareLock(fd) !== 0;
  } finally {
    closeSync(fd);
  }
}

/** Tells whether the daemon that owns drafts is alive, by its lock. */
export function ownerIsAlive(files: RuntimeFiles, owner: string): boolean {
  if (owner === files.owner) return false;
  return isHeld(join(files.folder, `${owner}.lock`));
}

/**
 * Owners of the sockets in the folder, dead ones included; none where there is no folder.
 * @throws {MendError} when something else is in its place, or it belongs to somebody else
 */
export function knownOwners(files: RuntimeFiles): string[] {
  if (!ownFolderExists(files.folder)) return [];
  return readdirSync(files.folder).flatMap((name) => (name.endsWith('.sock') ? [name.slice(0, -'.sock'.length)] : []));
}

/**
 * A path to a socket that is short enough for `sockaddr_un` (unix(7): 108 bytes) however deep the folder lies.
 * `close` ends its validity.
 */
export function shortPath(folder: string, name: string): { path: string; close: () => void } {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  return { path: `/proc/self/fd/${fd}/${name}`, close: () => closeSync(fd) };
}
