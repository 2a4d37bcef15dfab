import { fileURLToPath } from 'node:url';
import { printable } from '../../project/printable.js';
import type { Account } from '../people/account.js';
import { startAs } from '../people/person-process.js';

/** The program itself. */
export const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url));

/** Longest time, in ms, that one person's command may take. */
const PATIENCE = 120_000;
/** UTF-16 units that are kept of what it says. */
const MOST = 1 << 20;

/** How a command of a person ended; `status` is null when it took too long, and was ended. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of mend as a person. */
export function runAs(account: Account, args: readonly string[]): Promise<Ended> {
  const { child, kill } = startAs(account, [MAIN, ...args]);
  child.stdin.end();
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] = (said[stream] + text).slice(0, MOST);
    });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      kill();
      resolve({ status: null, ...said });
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
