import { isSystemError } from '../errors.js';
import { HeldFolder } from './held-folder.js';

/**
 * Brings the names in some folders to the disk, and those of the folders that they lie in.
 * @param changed paths of folders in `folder`, '' for itself
 * @returns why not, by folder
 */
export function syncNames(folder: string, changed: ReadonlySet<string>): Map<string, string> {
  const failed = new Map<string, string>();
  for (const path of changed) {
    try {
      const names = path === '' ? [] : path.split('/');
      for (let depth = names.length; depth >= 0; depth--) {
        const held = HeldFolder.walk(folder, names.slice(0, depth));
        if (!(held instanceof HeldFolder)) throw Object.assign(new Error(`${path} is gone`), { code: 'ENOENT' });
        try {
          held.sync();
        } finally {
          held.close();
        }
      }
    } catch (error) {
      if (!isSystemError(error)) throw error;
      failed.set(path, `cannot be written (${error.code})`);
    }
  }
  return failed;
}
