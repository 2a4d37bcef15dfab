import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isSystemError } from '../../errors.js';
import type { LinuxUser } from './linux-user.js';

const BECOME = fileURLToPath(new URL('./become.js', import.meta.url));
const RECEIVE = fileURLToPath(new URL('./receive.js', import.meta.url));

/** Variables that go on to a process of another user; everything else is root's own. */
const KEPT = ['PATH', 'LANG', 'MEND_LOG', 'MEND_SYSTEM_DIR'] as const;

/** A process that stores memory for a person. */
export interface PersonProcess {
  readonly child: ChildProcess;
  /** Ends it, whatever it does. */
  kill(): void;
}

/**
 * Starts the process that stores memory for a person: as that person, without the terminal of whoever started it, which that
 * person's other processes could reach through it.
 * @param user undefined when it is this process's own user
 * @param store folder of the store, where it is not in its usual place
 */
export function startFor(user: LinuxUser | undefined, store: string | undefined): PersonProcess {
  const args = user ? [BECOME, user.name, String(user.uid), String(user.gid), RECEIVE] : [RECEIVE];
  const env = {
    ...(user ? environmentOf(user) : process.env),
    ...(store === undefined ? {} : { MEND_STORE_DIR: store }),
  };
  const child = spawn(process.execPath, args, { cwd: '/', detached: true, env, stdio: ['pipe', 'pipe', 'pipe'] });
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
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
  };
}

function environmentOf({ name, home }: LinuxUser): NodeJS.ProcessEnv {
  const kept = KEPT.flatMap((key) => (process.env[key] === undefined ? [] : [[key, process.env[key]]]));
  return { ...Object.fromEntries(kept), HOME: home, USER: name, LOGNAME: name };
}
