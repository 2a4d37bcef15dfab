import { closeSync, fstatSync, writeSync } from 'node:fs';

/** Descriptor on which the command that starts a daemon waits for one of the words below, or for why it did not start. */
const DESCRIPTOR = 3;

/** The daemon serves. */
export const READY = 'ready';
/** Another daemon has the store's lock; this one ends. */
export const ANOTHER_SERVES = 'another daemon serves';

/** Exit status of a server that found no room on the disk to start: EX_TEMPFAIL of sysexits.h. */
export const NO_ROOM = 75;

let isTold = false;

/** Tells whoever started this daemon, once. */
export function tellStarter(words: string): void {
  if (isTold) return;
  isTold = true;
  try {
    if (!fstatSync(DESCRIPTOR).isFIFO() && !fstatSync(DESCRIPTOR).isSocket()) return;
    writeSync(DESCRIPTOR, `${words}\n`);
    closeSync(DESCRIPTOR);
  } catch {
    // Started by hand: nobody waits.
  }
}
