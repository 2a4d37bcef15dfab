import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../errors.js';

const PREFIX = 'scratch-';

/**
 * Where what a shared session writes lies: a store of its own, beside the store. So it is in no list, version, search, backup
 * or export of memory, and is thrown away with its folder.
 * @param session row id of the session
 */
export function scratchFolder(storeFolder: string, session: number): string {
  return join(storeFolder, 'run', `${PREFIX}${session}`);
}

/** Makes the folder, so that whoever looks knows that there is a shared session. */
export function makeScratch(storeFolder: string, session: number): void {
  mkdirSync(scratchFolder(storeFolder, session), { recursive: true, mode: 0o700 });
}

/** Whether there may be a shared session that was not ended. */
export function hasScratches(storeFolder: string): boolean {
  try {
    return readdirSync(join(storeFolder, 'run')).some((name) => name.startsWith(PREFIX));
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

/** What the files that it has open there are to a process that takes its mounts over; `owner` names the daemon. */
export function scratchJournal(storeFolder: string, session: number, owner: string): string {
  return join(scratchFolder(storeFolder, session), `${owner}.journal`);
}

/** Throws away what a session has written since it was shared; nothing is said where there is nothing. */
export function removeScratch(storeFolder: string, session: number): void {
  rmSync(scratchFolder(storeFolder, session), { recursive: true, force: true });
}
