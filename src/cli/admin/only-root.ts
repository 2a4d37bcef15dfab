import { MendError } from '../../errors.js';

/** @throws {MendError} for everybody but root. */
export function refuseOthers(): void {
  if (process.geteuid?.() === 0) return;
  throw new MendError(
    'only root sets people up, and sees how all of them fare: run this as root, or "mend status" for yourself',
  );
}
