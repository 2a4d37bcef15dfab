import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './exec.mjs';
import { BenchError } from './options.mjs';

const connections = '/sys/fs/fuse/connections';

/**
 * Looks a mount point up in the kernel's table, without touching the mount itself.
 * @param {string} folder canonical path
 * @returns {{ connection: string } | null} the number of its FUSE connection, or null when nothing is mounted there
 */
export function mountAt(folder) {
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [, , device, , point] = line.split(' ');
    const decoded = point?.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
    if (decoded === folder && device !== undefined) return { connection: device.split(':')[1] ?? '' };
  }
  return null;
}

/**
 * Waits until a server's mount is there.
 * @param {string} folder
 * @param {{ child: import('node:child_process').ChildProcess, errors: string }} server
 * @param {number} timeoutMs
 */
export async function waitForMount(folder, server, timeoutMs = 10_000) {
  const until = Date.now() + timeoutMs;
  while (mountAt(folder) === null) {
    const reason = server.errors.trim().split('\n').at(-1);
    if (server.child.exitCode !== null || server.child.pid === undefined) {
      throw new BenchError(`The server ended before it mounted: ${reason || `exit status ${server.child.exitCode}`}`);
    }
    if (Date.now() > until) throw new BenchError(`Nothing was mounted within ${timeoutMs / 1000} s.`);
    await sleep(10);
  }
}

/**
 * Takes a mount off; one that does not answer is aborted first, so that nobody waits in the kernel for it.
 * @param {string} folder
 */
export async function takeOff(folder) {
  for (let tries = 0; tries < 20 && mountAt(folder) !== null; tries += 1) {
    if (await succeeds('fusermount3', ['-u', folder])) continue;
    await sleep(50);
  }
  const left = mountAt(folder);
  if (left === null) return;
  await abort(left.connection);
  await succeeds('fusermount3', ['-uz', folder]);
  if (mountAt(folder) !== null) throw new BenchError(`The mount at ${folder} cannot be taken off.`);
}

/**
 * Aborts a FUSE connection: whoever waits for its server gets an error at once.
 * @param {string} connection its number
 */
export async function abort(connection) {
  if (!existsSync(`${connections}/${connection}`) && process.getuid?.() === 0) {
    await succeeds('mount', ['-t', 'fusectl', 'fusectl', connections]);
  }
  // Written by a child: the write itself may wait for the kernel.
  await succeeds('sh', ['-c', 'echo 1 > "$0"', `${connections}/${connection}/abort`]);
}

/** @param {string} command @param {string[]} args @returns {Promise<boolean>} */
async function succeeds(command, args) {
  try {
    await run(command, args, { timeoutMs: 5000 });
    return true;
  } catch (error) {
    if (error instanceof BenchError) return false;
    throw error;
  }
}
