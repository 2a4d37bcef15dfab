// @ts-check
// Reads the kernel's table of mounts and frees mounts that hang, without touching any path under them. Plain
// JavaScript, because the watchdog thread loads it without a transform.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/** @typedef {{ point: string, minor: number, type: string }} Mount */

const connections = '/sys/fs/fuse/connections';

/**
 * Undoes the octal escapes of /proc/self/mountinfo.
 * @param {string} field read as latin1
 * @returns {string}
 */
function decodePath(field) {
  const raw = field.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
  return Buffer.from(raw, 'latin1').toString('utf8');
}

/**
 * All mounts of this process's namespace, in the order they were made.
 * @returns {Mount[]}
 */
export function readMounts() {
  const lines = readFileSync('/proc/self/mountinfo', 'latin1').split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const fields = before.split(' ');
      return {
        point: decodePath(fields[4] ?? ''),
        minor: Number((fields[2] ?? '').split(':')[1]),
        type: after.split(' ')[0] ?? '',
      };
    });
}

/**
 * The mount points at or under a path, innermost first.
 * @param {string} prefix absolute path
 * @returns {string[]}
 */
export function leftoverMounts(prefix) {
  const base = prefix.replace(/\/+$/, '');
  const points = readMounts().map((mount) => mount.point);
  return points.filter((point) => point === base || point.startsWith(`${base}/`)).reverse();
}

/** Makes the control files of FUSE connections reachable where nobody mounted them; only root can. */
function openControl() {
  if (readMounts().some((mount) => mount.point === connections)) return;
  if (process.getuid?.() === 0) spawnSync('mount', ['-t', 'fusectl', 'fusectl', connections], { timeout: 10_000 });
}

/**
 * Whether connections can be ended here: their owner needs the control files, which only root can mount.
 * @returns {boolean}
 */
export function canAbort() {
  openControl();
  return readMounts().some((mount) => mount.point === connections);
}

/**
 * Ends the FUSE connection of a mount: every call that waits in it returns an error.
 * @param {string} point
 * @returns {boolean} whether a connection was ended
 */
export function abortConnection(point) {
  const mount = readMounts().findLast((candidate) => candidate.point === point && candidate.type.startsWith('fuse'));
  if (mount === undefined) return false;
  openControl();
  try {
    writeFileSync(`${connections}/${mount.minor}/abort`, '1');
    return true;
  } catch {
    return false;
  }
}

/**
 * Takes everything mounted at or under a path off, whatever state it is in.
 * @param {string} path
 * @returns {string[]} the mount points that are still there
 */
export function freeMounts(path) {
  for (const point of leftoverMounts(path)) {
    abortConnection(point);
    const { status } = spawnSync('fusermount3', ['-u', '-z', '--', point], { timeout: 10_000 });
    if (status !== 0 && process.getuid?.() === 0) spawnSync('umount', ['-l', '--', point], { timeout: 10_000 });
  }
  return leftoverMounts(path);
}
