import { type ChildProcessByStdio, type SpawnOptions, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { isSystemError } from '../../errors.js';
import type { Account } from './account.js';

const BECOME = fileURLToPath(new URL('./become.js', import.meta.url));

/** Variables that go on to a process of another user; everything else is root's own. */
const KEPT = ['PATH', 'LANG', 'MEND_LOG', 'MEND_SYSTEM_DIR'] as const;

/** A process that works for a person. */
export interface PersonProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Ends it, whatever it does. */
  kill(): void;
}

/**
 * Starts a program of mend's as a person, with their ids and groups, and without the terminal of whoever started it, which
 * that person's other processes could reach through it.
 * @param user undefined when it is this process's own user
 * @param command the program's file, and its arguments
 * @param env variables beside those of the user
 */
export function startAs(
  user: Account | undefined,
  command: readonly string[],
  env: NodeJS.ProcessEnv = {},
): PersonProcess {
  const args = user ? [BECOME, user.name, String(user.uid), String(user.gid), ...command] : command;
  const options = { cwd: '/', detached: true, env: { ...(user ? environmentOf(user) : process.env), ...env } };
  const child = spawn(process.execPath, args, { ...(options satisfies SpawnOptions), stdio: 'pipe' });
  return {
    child,
    kill: () => {
      try {
        // The group has the process that became the person, too.
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch (error) {
        if (!isSystemError(error, 'ESRCH')) throw error;
      }
      // Whatever else has its output open is not waited for.
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

function environmentOf({ name, home }: Account): NodeJS.ProcessEnv {
  const kept = KEPT.flatMap((key) => (process.env[key] === undefined ? [] : [[key, process.env[key]]]));
  return { ...Object.fromEntries(kept), HOME: home, USER: name, LOGNAME: name };
}
