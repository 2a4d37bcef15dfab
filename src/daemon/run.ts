import { closeSync, fstatSync, writeSync } from 'node:fs';
import { MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import { Daemon } from './daemon.js';

/** Descriptor on which the starting command waits for `ready`, or for the sentence that says why not. */
const READY = 3;

/** Runs the daemon in this process until its last mount is taken off or a signal ends it. */
export async function runDaemon(folder: string): Promise<void> {
  process.chdir('/');
  process.umask(0o077);
  let daemon: Daemon | undefined;
  try {
    daemon = await Daemon.start(folder);
    tellStarter('ready\n');
  } catch (error) {
    log('error', 'daemon did not start', { error: describeError(error) });
    tellStarter(`${error instanceof MendError ? error.message : `the daemon did not start: ${String(error)}`}\n`);
    process.exitCode = 1;
    return;
  }
  if (!daemon) return;
  log('info', 'daemon serves', { pid: process.pid });
  const running = daemon;
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

function tellStarter(text: string): void {
  try {
    if (!fstatSync(READY).isFIFO() && !fstatSync(READY).isSocket()) return;
    writeSync(READY, text);
    closeSync(READY);
  } catch {
    // Started by hand: nobody waits.
  }
}
