import { chmodSync, lstatSync } from 'node:fs';
import { MendError } from '../errors.js';

/** Modes of what is for the owner alone. */
export const OWNER_FILE = 0o600;
export const OWNER_FOLDER = 0o700;

/** Takes a file or folder from everybody but its owner; false when the file system does not do that. */
export function isKeptToOwner(path: string, mode: number): boolean {
  if (modeOf(path) !== mode) chmodSync(path, mode);
  return modeOf(path) === mode;
}

/** @throws {MendError} when a folder cannot be made the owner's alone; nothing is to be stored there then. */
export function keepToOwner(folder: string): void {
  if (!isKeptToOwner(folder, OWNER_FOLDER))
    throw new MendError(
      `the folder ${folder} cannot be kept for you alone, as its file system has no such modes: move your home to one that has`,
    );
}

function modeOf(path: string): number {
  return lstatSync(path).mode & 0o7777;
}
