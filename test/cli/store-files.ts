import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../../src/errors.js';

/** Names of the files under a folder, sockets aside, that have some bytes anywhere in them. */
export function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => has(join(folder, name), text))
    .sort();
}

function has(file: string, text: string): boolean {
  try {
    return statSync(file).isFile() && readFileSync(file).includes(text);
  } catch (error) {
    // A daemon plays on a store that it throws away.
    if (isSystemError(error, 'ENOENT')) return false;
    throw error;
  }
}
