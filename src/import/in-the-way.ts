import { isSystemError } from '../errors.js';
import type { ImportedFile } from './import-options.js';

/** Why a file was skipped that another process keeps from being stored. */
export const BUSY = "could not be stored, as another process holds mend's store: try again";

/** A file that is left out. @param reason goes on after "it" */
export function left(path: string, reason: string): ImportedFile {
  return { path, outcome: 'skipped', linesLost: 0, reason };
}

/** Turns what keeps one file from being stored, and the others not, into the reason for which it is skipped. */
export async function unlessInTheWay(path: string, work: () => Promise<ImportedFile>): Promise<ImportedFile> {
  try {
    return await work();
  } catch (error) {
    if (isSystemError(error, 'EISDIR')) return left(path, 'is a folder in memory');
    if (isSystemError(error, 'ENOTDIR')) return left(path, 'lies in a folder that is a file in memory');
    if (isSystemError(error, 'SQLITE_FULL')) return left(path, "does not fit on the disk of mend's store");
    if (isSystemError(error, 'SQLITE_BUSY')) return left(path, BUSY);
    throw error;
  }
}
