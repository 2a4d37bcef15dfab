import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';

/** Whether any user can enter every folder down to a path, and read the last. */
export function reachableByAll(path: string): boolean {
  if ((statSync(path).mode & 0o005) !== 0o005) return false;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === '/') return true;
  }
}

/** A temporary folder that every user can enter. */
export function sharedTemp(): string {
  return reachableByAll(tmpdir()) ? tmpdir() : '/tmp';
}
