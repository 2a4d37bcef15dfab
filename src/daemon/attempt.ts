import { describeError, log } from '../log.js';

/** Logs what goes wrong in work that can come later, or that the next daemon does. */
export function attempt(failure: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    log('error', failure, { error: describeError(error) });
  }
}
