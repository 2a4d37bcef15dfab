import { join } from 'node:path';
import { MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import { STORE_FILE, storeFolder } from '../store/location.js';
import { explain, isDiskFull } from '../store/open-database.js';
import { Daemon } from './daemon.js';
import { Keeper } from './keeper.js';
import { ANOTHER_SERVES, NO_ROOM, READY } from './readiness.js';
import { ServingThread } from './serving-thread.js';

/** Time, in ms, after which a daemon ends that nobody has asked for anything since it started. */
const UNUSED = 30_000;

/** Runs the server in this process, which the supervisor started, until its last mount is taken off or a signal ends it. */
async function serve(): Promise<void> {
  process.chdir('/');
  process.umask(0o077);
  const keeper = new Keeper();
  const thread = new ServingThread();
  await thread.loaded;
  const inheritance = await keeper.turn();
  const isFirst = inheritance.held.length === 0;
  const folder = storeFolder(process.env, process.getuid?.() ?? 0);
  let daemon: Daemon | undefined;
  try {
    daemon = await Daemon.start(folder, keeper, thread, inheritance);
  } catch (error) {
    log('error', 'daemon did not start', { error: describeError(error) });
    const reason = explain(error, join(folder, STORE_FILE));
    await keeper.tell(reason instanceof MendError ? reason.message : `the daemon did not start: ${String(error)}`);
    process.exit(isDiskFull(error) ? NO_ROOM : 1);
  }
  await keeper.tell(daemon ? READY : ANOTHER_SERVES);
  if (!daemon) process.exit(0);
  log('info', isFirst ? 'daemon serves' : 'daemon serves again', { pid: process.pid });
  const running = daemon;
  if (isFirst) setTimeout(() => running.stopWhenIdle(), UNUSED).unref();
  else running.stopWhenIdle();
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

await serve();
