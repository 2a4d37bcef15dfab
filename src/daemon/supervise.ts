import { MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import { storeFolder } from '../store/location.js';
import { tellStarter } from './readiness.js';
import { Supervisor } from './supervisor.js';

/** Runs the supervisor of this person's store in this process; it ends with the last mount or by a signal. */
function supervise(): void {
  process.chdir('/');
  process.umask(0o077);
  try {
    new Supervisor(storeFolder(process.env, process.getuid?.() ?? 0), tellStarter, (status) => process.exit(status));
  } catch (error) {
    log('error', 'the daemon did not start', { error: describeError(error) });
    tellStarter(error instanceof MendError ? error.message : `the daemon did not start: ${String(error)}`);
    process.exit(1);
  }
}

supervise();
