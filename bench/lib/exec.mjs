import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchError } from './options.mjs';

/**
 * @typedef {object} Person who runs a program
 * @property {number} uid
 * @property {number} gid
 *
 * @typedef {object} RunOptions
 * @property {Person | null} [as] null for the caller
 * @property {Record<string, string>} [env] added to a small clean environment
 * @property {string} [cwd]
 * @property {number} [timeoutMs] after which the program is killed
 * @property {AbortSignal} [signal] kills the program when aborted
 */

/** A program that did not end in its time. */
export class Late extends BenchError {}

/** @param {RunOptions} options */
function spawnOptions(options) {
  const base = { PATH: process.env['PATH'] ?? '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C.UTF-8' };
  return {
    env: { ...base, ...options.env },
    cwd: options.cwd ?? '/',
    ...(options.as ? { uid: options.as.uid, gid: options.as.gid } : {}),
  };
}

/**
 * Runs a program to its end and returns its standard output.
 * Fails with a sentence that holds the program's last line of standard error, its exit status, or the time-out.
 * @param {string} command
 * @param {string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<string>}
 */
export async function run(command, args, options = {}) {
  const { timeoutMs = 60_000, signal } = options;
  signal?.throwIfAborted();
  const child = spawn(command, args, { ...spawnOptions(options), stdio: ['ignore', 'pipe', 'pipe'] });
  /** @type {Buffer[]} */
  const output = [];
  let errors = '';
  child.stdout.on('data', (/** @type {Buffer} */ chunk) => output.push(chunk));
  child.stderr.on('data', (/** @type {Buffer} */ chunk) => {
    errors = (errors + chunk.toString()).slice(-2000);
  });
  let late = false;
  /** @type {(error: Error) => void} */
  let giveUp = () => {};
  /** @type {NodeJS.Timeout | undefined} */
  let lastTimer;
  const stuck = new Promise((_, reject) => {
    giveUp = reject;
  });
  const kill = () => {
    child.kill('SIGKILL');
    const error = new Late(`Process ${child.pid} (${command}) hangs in the kernel; its mount has to be aborted.`);
    lastTimer = setTimeout(() => giveUp(error), 2000);
  };
  const timer = setTimeout(() => {
    late = true;
    kill();
  }, timeoutMs);
  signal?.addEventListener('abort', kill, { once: true });
  try {
    // A program that does not even die of SIGKILL waits in the kernel: it is given up.
    const [code, killedBy] = await Promise.race([exited(child), stuck]);
    signal?.throwIfAborted();
    const call = [command, ...args].slice(0, 3).join(' ');
    if (late) throw new Late(`"${call}" did not end within ${timeoutMs / 1000} s.`);
    if (code !== 0) {
      const reason = errors.trim().split('\n').at(-1) || `exit status ${code ?? killedBy}`;
      throw new BenchError(`"${call}" failed: ${reason}`);
    }
    return Buffer.concat(output).toString();
  } finally {
    clearTimeout(timer);
    clearTimeout(lastTimer);
    signal?.removeEventListener('abort', kill);
    child.stdout.destroy();
    child.stderr.destroy();
    child.unref();
  }
}

/** @param {import('node:child_process').ChildProcess} child @returns {Promise<[number | null, string | null]>} */
async function exited(child) {
  const [code, signal] = await once(child, 'exit');
  // What was written before the exit may still be in the pipes: let it be read. A program that went to the
  // background may hold them open for good, so that 'close' alone is not waited for.
  await Promise.race([once(child, 'close'), sleep(200)]);
  return [code, signal];
}

/**
 * Starts a program that serves until it is ended; it is a process group of its own, so that only we end it.
 * @param {string} command
 * @param {string[]} args
 * @param {RunOptions} [options]
 */
export function serve(command, args, options = {}) {
  const child = spawn(command, args, {
    ...spawnOptions(options),
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const server = { child, errors: '' };
  child.stderr.on('data', (/** @type {Buffer} */ chunk) => {
    server.errors = (server.errors + chunk.toString()).slice(-2000);
  });
  child.on('error', (error) => {
    server.errors = error.message;
  });
  return server;
}

/** @param {number} pid @returns {boolean} false as well for a process that ended and was not yet waited for */
export function isAlive(pid) {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/**
 * Ends a process by its id: waits, then SIGTERM, then SIGKILL. Resolves when it is gone.
 * @param {number} pid
 * @param {number} graceMs how long it may take to end by itself
 */
export async function end(pid, graceMs) {
  for (const [signal, ms] of /** @type {[NodeJS.Signals | null, number][]} */ ([
    [null, graceMs],
    ['SIGTERM', 2000],
    ['SIGKILL', 3000],
  ])) {
    if (signal !== null && isAlive(pid)) process.kill(pid, signal);
    const until = Date.now() + ms;
    while (isAlive(pid) && Date.now() < until) await sleep(10);
    if (!isAlive(pid)) return;
  }
  throw new BenchError(`Process ${pid} does not end.`);
}
