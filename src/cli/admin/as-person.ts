import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { printable } from '../../project/printable.js';
import type { Account } from './account.js';

const BECOME = fileURLToPath(new URL('./become.js', import.meta.url));
/** The program itself. */
export const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url));

const PATH = '/usr/local/bin:/usr/bin:/bin';
/** Longest time, in ms, that one person's command may take. */
const PATIENCE = 120_000;
/** Characters that are kept of what it says. */
const MOST = 1 << 20;

/** How a command of a person ended; `status` is null when it took too long, and was ended. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs mend as a person: with their ids and groups, an environment that has nothing of root's, and without a terminal that
 * they could type into.
 */
export function runAs({ name, uid, gid, home }: Account, args: readonly string[]): Promise<Ended> {
  const command = [BECOME, name, String(uid), String(gid), process.execPath, MAIN, ...args];
  const child = spawn(process.execPath, command, {
    cwd: '/',
    env: { HOME: home, USER: name, LOGNAME: name, PATH, LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      if (said[stream].length < MOST) said[stream] += text;
    });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
      resolve({ status: null, ...said });
      child.stdout.destroy();
      child.stderr.destroy();
    }, PATIENCE);
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      resolve({ status, ...said });
    });
  });
}

/** The lines that a person's command printed, as they can be shown to root. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => printable(line.replace(/^mend: /, '')));
}
