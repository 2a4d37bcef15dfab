import { closeSync, constants, lstatSync, rmSync, writeSync } from 'node:fs';
import { isSystemError } from '../errors.js';
import { openOwn } from './own-file.js';

/** Bytes that a server needs to take over: for the index of the store's log, and for the journal. */
const ROOM = 1024 * 1024;

/** Keeps some room on the store's disk, for a server that has to take over when the disk is full; as much as there is. */
export function keepRoom(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.size === ROOM) return;
  const fd = openOwn(path, constants.O_WRONLY | constants.O_TRUNC);
  try {
    for (let done = 0; done < ROOM; ) done += writeSync(fd, Buffer.alloc(ROOM - done));
  } catch (error) {
    if (!isSystemError(error, 'ENOSPC', 'EDQUOT')) throw error;
    rmSync(path, { force: true });
  } finally {
    closeSync(fd);
  }
}

/** Gives the room that was kept to whoever needs it now. */
export function giveRoom(path: string): void {
  rmSync(path, { force: true });
}
