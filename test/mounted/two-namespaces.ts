import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { currentUser, type TestUser } from '../support/users.js';
import { Stage, staged } from './stage.js';

/**
 * Keeps a mount namespace alive, and tells the way into it.
 * @param prepare a shell script that is run in it first
 */
export async function openNamespace(prepare = ':'): Promise<ChildProcess> {
  const keeper = spawn('unshare', ['--mount', 'sh', '-euc', `${prepare}\necho ready; exec sleep 600`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (keeper.stdout) await once(keeper.stdout, 'data');
  return keeper;
}

/** A test user whose programs run in the namespace of a process. */
export function within(user: TestUser, namespace: number, root: TestUser): TestUser {
  const enter = (command: readonly string[]): [string, ...string[]] => [
    ...(['nsenter', '--mount', `--target=${namespace}`, `--wd=${user.home}`, '--'] as const),
    ...['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--init-groups', '--', ...command],
  ];
  const variables = (env: Record<string, string> = {}) => ({
    HOME: user.home,
    USER: user.name,
    LOGNAME: user.name,
    ...env,
  });
  // nsenter decides where the program starts; a shell goes on from there.
  const inFolder = (command: readonly string[], cwd?: string): [string, ...string[]] =>
    enter(cwd === undefined ? command : ['sh', '-c', 'cd "$0" && exec "$@"', cwd, ...command]);
  return {
    ...user,
    spawn: (command, given) =>
      root.spawn(inFolder(command, given?.cwd), { ...given, cwd: '/', env: variables(given?.env) }),
    run: (command, given) =>
      root.run(inFolder(command, given?.cwd), { ...given, cwd: '/', env: variables(given?.env) }),
  };
}

/** A test on two stages of one user and store: one in the namespace of the tests, one in another. */
export function twice(seconds: number, body: (here: Stage, there: Stage) => Promise<void>): () => Promise<void> {
  return staged(seconds, async (here) => {
    const keeper = await openNamespace();
    const root = currentUser();
    try {
      await body(here, await Stage.open(within(here.user, keeper.pid ?? 0, root)));
    } finally {
      keeper.kill('SIGKILL');
      await root.remove();
    }
  });
}
