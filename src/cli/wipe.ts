import { scrub } from '../store/scrub.js';
import type { Store } from '../store/store.js';
import { ExitStatus } from './exit-status.js';
import { complain, printLine } from './output.js';

/**
 * Has no trace of what was purged left in the store's files; false, and says so, when somebody keeps the store busy.
 * @param owners the daemons that serve the store
 */
export function wipe(store: Store, owners: readonly string[]): boolean {
  const complete = scrub(store);
  // A daemon that goes on serving flushes the log faster within room that is there already.
  if (owners.length > 0) store.log.reserve();
  if (!complete)
    complain(
      'the store is in use or its disk is full, and its files still have traces of what was purged: run the command again when that is over',
    );
  return complete;
}

/** Completes a purge that could not wipe its traces. */
export function wipeAgain(store: Store, owners: readonly string[]): ExitStatus {
  if (!wipe(store, owners)) return ExitStatus.unsettled;
  printLine('wiped the traces of what was purged before');
  return ExitStatus.done;
}
