import { opendirSync, realpathSync, statSync } from 'node:fs';
import { isSystemError, MendError } from '../errors.js';
import { printable } from './printable.js';

/**
 * The canonical path of a folder that exists, is a folder and can be read and entered.
 * Throws `MendError` with one sentence otherwise.
 */
export function canonicalFolder(folder: string): string {
  const shown = printable(folder);
  if (folder === '') throw new MendError('the name of the folder is empty: name the folder of a checkout');
  let path: string;
  try {
    path = realpathSync(folder);
    if (statSync(path).isDirectory()) {
      opendirSync(path).closeSync();
      statSync(`${path}/.`); // a folder can be readable and still not be entered
      return path;
    }
  } catch (error) {
    throw new MendError(reason(shown, error), { cause: error });
  }
  throw new MendError(`"${shown}" is not a folder: name the folder of a checkout`);
}

function reason(shown: string, error: unknown): string {
  if (isSystemError(error, 'ENOENT')) return `there is no folder "${shown}": check the path`;
  if (isSystemError(error, 'ENOTDIR')) return `"${shown}" leads through something that is not a folder: check the path`;
  if (isSystemError(error, 'EACCES')) {
    return `you may not read the folder "${shown}": ask its owner for access, or name another`;
  }
  return `the folder "${shown}" cannot be used (${isSystemError(error) ? error.code : 'unknown error'}): name another`;
}
