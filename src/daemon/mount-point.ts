import {
  accessSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSystemError, MendError } from '../errors.js';
import { unmountWithFusermount } from '../fuse/fusermount.js';
import { loadNative } from '../fuse/native.js';
import { obstacleTo } from '../harness/obstacle.js';
import { HeldFolder } from '../import/held-folder.js';
import { log } from '../log.js';
import { signOfLife } from './sign-of-life.js';

/** Folders that may be missing at most on the way to a mount point (`.claude/projects/<slug>`); a home is never made. */
const MISSING_MOST = 3;

/** A folder that can be mounted on. */
export interface MountPoint {
  readonly path: string;
  /** Takes away the folders that were made for it, as far as they are empty. */
  undo(): void;
}

/**
 * Checks that a folder can be mounted on, or could after it is made. Changes nothing.
 * @throws {MendError} when it is a link or a file, belongs to somebody else, is mounted already, or its home is missing.
 */
export async function checkMountPoint(path: string): Promise<void> {
  if ((await mountState(realPath(path))) === 'dead') return;
  refuseOther(path);
  const there = existingParent(dirname(path));
  if (lstatOf(path) !== undefined) return;
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw cannotMake(there, error);
  }
}

/**
 * Checks, and where it is missing makes, the folder that a mount goes over; `path` is its real path, on which nothing
 * is mounted (`clearMountPoint`).
 * @throws {MendError} as `checkMountPoint` does.
 */
export function prepareMountPoint(path: string): MountPoint {
  refuseOther(path);
  existingParent(dirname(path));
  let made: string | undefined;
  try {
    made = mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const real = realPath(path);
    const own = mkdirSync(real, { recursive: true, mode: 0o700 });
    made ??= own;
    refuseOther(real);
    return { path: real, undo: () => removeEmpty(real, made) };
  } catch (error) {
    throw isSystemError(error) ? cannotMake(existingParent(dirname(path)), error) : error;
  }
}

/** The real path of a folder that may not exist, as mount points are recorded. */
export function realPath(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch (error) {
    if (isSystemError(error)) return path;
    throw error;
  }
}

/**
 * Opens a mount point that was checked, so that what is done next concerns this very folder.
 * @throws {MendError} when it is not there any more, or leads elsewhere.
 */
export function holdMountPoint(path: string): HeldFolder {
  try {
    const held = HeldFolder.openReal(path);
    if (fstatSync(held.fd).uid === process.getuid?.()) return held;
    held.close();
  } catch (error) {
    if (!isSystemError(error)) throw error;
  }
  throw movedAway(path);
}

/** Mounts of mend that this process sees, by the kernel's number of each: proc_pid_mountinfo(5). */
export function mendMounts(): Map<string, string> {
  const found = new Map<string, string>();
  for (const { id, path, type } of mountLines()) if (type === MOUNT_TYPE) found.set(id, path);
  return found;
}

/**
 * Makes sure that a mount came up on a folder; where it did not, takes off what came up elsewhere.
 * @param fd descriptor of the mount, closed when this fails
 * @param before what `mendMounts` said before
 * @throws {MendError} when its folder was moved, or replaced by a link, meanwhile.
 */
export async function confirmMount(held: HeldFolder, path: string, fd: number, before: Map<string, string>) {
  if (held.path === path && mountTable().get(path) === MOUNT_TYPE) return;
  loadNative().closeDescriptor(fd);
  for (const [id, stray] of mendMounts()) {
    // A mount may have the number of one that was taken off meanwhile, and one of another daemon is alive.
    if (before.get(id) === stray || !(await isDeadAtLast(stray))) continue;
    log('warn', 'mount came up elsewhere and is taken off', { path, stray });
    await unmountWithFusermount(stray, true);
  }
  throw movedAway(path);
}

/** How often a mount that does not answer is asked: on a busy machine the one that asks takes its time. */
const ATTEMPTS = 5;

async function isDeadAtLast(path: string): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const sign = await signOfLife(path);
    if (sign !== 'silent') return sign === 'dead';
  }
  return false;
}

function movedAway(path: string): MendError {
  return new MendError(
    `cannot mount on ${path}: a folder above it was moved or replaced by a link meanwhile; run the command again once it stays`,
  );
}

function removeEmpty(last: string, first: string | undefined): void {
  if (first === undefined) return;
  const top = realPath(first);
  try {
    for (let at = last; at.length >= top.length; at = dirname(at)) rmdirSync(at);
  } catch (error) {
    if (!isSystemError(error)) throw error;
  }
}

function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    const way = isSystemError(error, 'ENOTDIR', 'EACCES') ? obstacleTo(path) : undefined;
    if (way) throw new MendError(`cannot mount below ${way.path}: it ${way.what}; ${way.todo}`);
    throw error;
  }
}

function refuseOther(path: string): void {
  const info = lstatOf(path);
  if (!info) return;
  if (info.isSymbolicLink())
    throw new MendError(`cannot mount on ${path}: it is a symbolic link; replace it with a folder`);
  if (!info.isDirectory()) throw new MendError(`cannot mount on ${path}: it is not a folder; move it away`);
  if (info.uid !== process.getuid?.()) {
    throw new MendError(`cannot mount on ${path}: it belongs to user ${info.uid}, not to you; use a home of your own`);
  }
}

/** The nearest folder at or above a path that is there. */
function existingParent(folder: string): string {
  let at = folder;
  for (let missing = 0; !lstatOf(at); at = dirname(at)) {
    if (++missing > MISSING_MOST) {
      throw new MendError(
        `cannot mount under ${folder}: ${at} is missing; make that folder, or correct HOME or CLAUDE_CONFIG_DIR`,
      );
    }
  }
  return at;
}

function cannotMake(within: string, cause: unknown): MendError {
  const code = isSystemError(cause) ? ` (${cause.code})` : '';
  return new MendError(`cannot make a folder in ${within}${code}: make it writable for you`, { cause });
}

/** Type of mend's mounts in the kernel's table. */
export const MOUNT_TYPE = 'fuse.mend';

/** Lines of proc_pid_mountinfo(5). */
function* mountLines(): Generator<{ id: string; device: string; path: string; type: string }> {
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [before, after] = line.split(' - ');
    const fields = before?.split(' ') ?? [];
    const [id, , device, , path] = fields;
    if (id === undefined || device === undefined || path === undefined || after === undefined) continue;
    const name = path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    yield { id, device, path: name, type: after.split(' ')[0] ?? '' };
  }
}

/** Mounts of mend that this process sees, with the numbers of their file systems, oldest first. */
export function mendPlaces(): { readonly path: string; readonly device: string }[] {
  return [...mountLines()].filter(({ type }) => type === MOUNT_TYPE);
}

/** Mount points that this process sees, with their types. */
export function mountTable(): Map<string, string> {
  return new Map([...mountLines()].map(({ path, type }) => [path, type]));
}

/** The mount of mend that a path lies in or is, by the kernel's table. */
export function mountAbove(path: string): string | undefined {
  const table = mountTable();
  for (let at = realPath(path); ; at = dirname(at)) {
    const type = table.get(at);
    if (type !== undefined || at === '/') return type === MOUNT_TYPE ? at : undefined;
  }
}

/**
 * Makes sure that nothing is mounted on a path. A mount of mend whose daemon died is taken off.
 * @throws {MendError} when something else is mounted there.
 */
export async function clearMountPoint(path: string): Promise<void> {
  while ((await mountState(path)) === 'dead') {
    log('info', 'taking off a mount whose daemon died', { path });
    await unmountWithFusermount(path, true);
  }
}

async function mountState(path: string): Promise<'free' | 'dead'> {
  const type = mountTable().get(path);
  if (type === undefined) return 'free';
  if (type !== MOUNT_TYPE)
    throw new MendError(`cannot mount on ${path}: something else (${type}) is mounted there; unmount it first`);
  if (await isDead(path)) return 'dead';
  throw new MendError(
    `cannot mount on ${path}: it is mounted already, by a mend that serves another store; unmount it there first`,
  );
}

/** True for a mount whose daemon is gone; one that does not answer in time counts as alive. */
export async function isDead(path: string): Promise<boolean> {
  return (await signOfLife(path)) === 'dead';
}
