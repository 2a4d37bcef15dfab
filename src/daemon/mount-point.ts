import { lstatSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isSystemError, MendError } from '../errors.js';
import { unmountWithFusermount } from '../fuse/fusermount.js';
import { log } from '../log.js';

/** Folders that are made on the way to a mount point: the harness's own (`.claude/projects/<slug>/memory`), not a home. */
const LEVELS_MADE = 4;

/**
 * Checks, and where it is missing makes, the folder that a mount goes over; returns its real path.
 * @throws {MendError} when it is a link or a file, belongs to somebody else, or its home is missing.
 */
export function prepareMountPoint(path: string): string {
  refuseOther(path);
  makeParents(dirname(path));
  const real = join(realpathSync(dirname(path)), basename(path));
  if (isMounted(real)) return real;
  try {
    mkdirSync(real, { mode: 0o700 });
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw cannotMake(real, error);
  }
  refuseOther(real);
  return real;
}

function refuseOther(path: string): void {
  let info: ReturnType<typeof lstatSync>;
  try {
    info = lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // ENOTCONN: a mount whose daemon died lies here; the caller takes it off.
    if (isSystemError(error, 'ENOTCONN')) return;
    if (isSystemError(error, 'ENOTDIR')) throw new MendError(`cannot mount on ${path}: a file is in the way of its folder; move it away`);
    if (isSystemError(error, 'EACCES')) throw new MendError(`cannot mount on ${path}: it belongs to somebody else; use a home of your own`);
    throw error;
  }
  if (!info) return;
  if (info.isSymbolicLink()) throw new MendError(`cannot mount on ${path}: it is a symbolic link; replace it with a folder`);
  if (!info.isDirectory()) throw new MendError(`cannot mount on ${path}: it is not a folder; move it away`);
  if (info.uid !== process.getuid?.()) {
    throw new MendError(`cannot mount on ${path}: it belongs to user ${info.uid}, not to you; use a home of your own`);
  }
}

function makeParents(folder: string): void {
  let missing = 0;
  let at = folder;
  while (!lstatSync(at, { throwIfNoEntry: false }) && at !== '/') {
    missing++;
    at = dirname(at);
  }
  if (missing >= LEVELS_MADE + 1 || at === '/') {
    throw new MendError(`cannot mount under ${folder}: ${at === '/' ? folder : at} does not lead to a home; make it, or correct HOME or CLAUDE_CONFIG_DIR`);
  }
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw cannotMake(folder, error);
  }
}

function cannotMake(folder: string, cause: unknown): MendError {
  const code = isSystemError(cause) ? ` (${cause.code})` : '';
  return new MendError(`cannot make the folder ${folder}${code}: make the folder above it writable for you`, { cause });
}

/** Mount points that this process sees, with their types: proc_pid_mountinfo(5). */
export function mountTable(): Map<string, string> {
  const table = new Map<string, string>();
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [before, after] = line.split(' - ');
    const path = before?.split(' ')[4];
    if (path === undefined || after === undefined) continue;
    table.set(path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))), after.split(' ')[0] ?? '');
  }
  return table;
}

function isMounted(path: string): boolean {
  return mountTable().has(path);
}

/** Longest wait, in ms, for a sign of life of a mount that is there already. */
const PATIENCE = 2000;

/**
 * Makes sure that nothing is mounted on a path. A mount of mend whose daemon died is taken off.
 * @throws {MendError} when something else is mounted there.
 */
export async function clearMountPoint(path: string): Promise<void> {
  for (let type = mountTable().get(path); type !== undefined; type = mountTable().get(path)) {
    if (type !== 'fuse.mend') throw new MendError(`cannot mount on ${path}: something else (${type}) is mounted there; unmount it first`);
    const patience = new Promise<'slow'>((resolve) => setTimeout(() => resolve('slow'), PATIENCE).unref());
    const state = await Promise.race([stat(path).then(() => 'alive' as const, (error: unknown) => error), patience]);
    if (!isSystemError(state, 'ENOTCONN')) {
      throw new MendError(`cannot mount on ${path}: it is mounted already, by a mend that serves another store; unmount it there first`);
    }
    log('info', 'taking off a mount whose daemon died', { path });
    await unmountWithFusermount(path, true);
  }
}
