// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { BenchError } from '../../bench/lib/options.mjs';

/** Seconds for one file; the longest sleeps for more than a minute of its own. */
const SECONDS = 900;

/**
 * @typedef {object} Result what one file of tests gave
 * @property {number} count tests that it announced or ran, whichever is more
 * @property {Map<number, string>} failed what each failed test said; one that was announced and never ran has failed
 *
 * @typedef {object} Place
 * @property {string} name
 * @property {string} folder
 */

/**
 * Runs one file of tests in a folder, as pjdfstest's own description says: the folder is the working folder.
 * @param {string} suite
 * @param {string} test as `listTests` names it
 * @param {string} folder
 * @param {{ as: import('../../bench/lib/exec.mjs').Person | null, signal: AbortSignal }} options
 * @returns {Promise<{ result: Result, output: string }>}
 */
export async function runTest(suite, test, folder, { as, signal }) {
  signal.throwIfAborted();
  // The shell goes to the folder: whoever starts it may have no way into the mount of another user.
  const args = ['-c', 'cd "$1" && exec sh "$2"', 'sh', folder, path.join(suite, 'tests', test)];
  const child = spawn('sh', args, {
    cwd: '/',
    detached: true,
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'ignore'],
    ...(as ? { uid: as.uid, gid: as.gid } : {}),
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    output += chunk;
  });
  const kill = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, SECONDS * 1000);
  signal.addEventListener('abort', kill);
  try {
    await once(child, 'close');
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  }
  signal.throwIfAborted();
  if (isLate) throw new BenchError(`${test} did not end within ${SECONDS} s in ${folder}.`);
  return { result: readResult(output), output };
}

/**
 * Reads what a file of tests printed, in the Test Anything Protocol.
 * @param {string} output
 * @returns {Result}
 */
export function readResult(output) {
  let count = 0;
  /** @type {Set<number>} */
  const passed = new Set();
  /** @type {Map<number, string>} */
  const failed = new Map();
  for (const line of output.split('\n')) {
    const plan = /^1\.\.(\d+)/.exec(line)?.[1];
    if (plan !== undefined) count = Math.max(count, Number(plan));
    const [, not, number, text = ''] = /^(not )?ok (\d+)(?: (?:- )?(.*))?$/.exec(line) ?? [];
    if (number === undefined) continue;
    count = Math.max(count, Number(number));
    // "TODO" marks what is known to differ between systems; it counts for nobody.
    if (not === undefined || text.startsWith('# TODO')) passed.add(Number(number));
    else failed.set(Number(number), text);
  }
  for (let number = 1; number <= count; number++) {
    if (!passed.has(number) && !failed.has(number)) failed.set(number, 'did not run');
  }
  return { count, failed };
}
