import { execFile } from 'node:child_process';

/** Longest wait, in ms, for a sign of life of a mount. */
const PATIENCE = 5000;

/**
 * Asks a mount for a sign of life. Another process does it, which can be killed: a thread of this one that waits for a
 * server that does not answer would keep it from ending.
 */
export function signOfLife(path: string): Promise<'answers' | 'dead' | 'silent'> {
  const options = { cwd: '/', env: { ...process.env, LC_ALL: 'C' }, timeout: PATIENCE, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    execFile('stat', ['-f', '--', path], options, (error, _, complaint) => {
      if (error === null) resolve('answers');
      else if (error.killed) resolve('silent');
      else resolve(complaint.includes('not connected') ? 'dead' : 'answers');
    });
  });
}
