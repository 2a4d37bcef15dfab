import { MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import { Daemon } from './daemon.js';
import { ANOTHER_SERVES, READY, tellStarter } from './readiness.js';

/** Time, in ms, after which a daemon ends that nobody has asked for anything since it started. */
const UNUSED = 30_000;

/** Runs the daemon in this process until its last mount is taken off or a signal ends it. */
export async function runDaemon(folder: string): Promise<void> {
  process.chdir('/');
  process.umask(0o077);
  let daemon: Daemon | undefined;
  try {
    daemon = await Daemon.start(folder);
    tellStarter(daemon ? READY : ANOTHER_SERVES);
  } catch (error) {
    log('error', 'daemon did not start', { error: describeError(error) });
    tellStarter(error instanceof MendError ? error.message : `the daemon did not start: ${String(error)}`);
    process.exitCode = 1;
    return;
  }
  if (!daemon) return;
  log('info', 'daemon serves', { pid: process.pid });
  const running = daemon;
  setTimeout(() => running.stopWhenIdle(), UNUSED).unref();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      running.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          log('error', 'daemon did not end cleanly', { error: describeError(error) });
          process.exit(1);
        },
      );
    });
  }
}
