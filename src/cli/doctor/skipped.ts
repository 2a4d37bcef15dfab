import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../../errors.js';
import type { Skipped } from '../../import/folder-reader.js';
import { DEPTH_MAX } from '../../ports/limits.js';
import { shellWord } from '../../project/shell-word.js';
import { quoted } from '../output.js';
import type { Examined } from './examined.js';
import { orOk, type Result, warning } from './finding.js';
import { isFolder, listed, type MemoryPlace } from './folders.js';

/** What lies in the plain folders could be taken in. */
export function checkSkipped({ settings }: Examined, places: readonly MemoryPlace[]): readonly Result[] {
  const plain = places.filter(({ mounted, folder }) => !mounted && isFolder(folder));
  const faults = plain.flatMap((place) => {
    const { files, skipped } = listed(place, settings.limits.fileBytes);
    const closed = files.flatMap((path) => closedFile(place.folder, path));
    return [...skipped, ...closed].map(({ path, reason }) => {
      const file = join(place.folder, path);
      return warning(`${quoted(file)} is not taken in: it ${reason}`, hintFor(reason, file));
    });
  });
  return orOk(faults, 'nothing in the plain folders would be left out');
}

/** A file that is there and cannot be opened. Nothing is read of it. */
function closedFile(folder: string, path: string): Skipped[] {
  try {
    closeSync(openSync(join(folder, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
    return [];
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // Gone since it was listed.
    return error.code === 'ENOENT' ? [] : [{ path, reason: `cannot be read (${error.code})` }];
  }
}

/** What to do, by what the reader of folders gives for a reason. */
const HINTS: readonly (readonly [reason: RegExp, hint: (file: string) => string])[] = [
  [/cannot be read \((?:EACCES|EPERM)\)/, (file) => `make it readable for you: chmod u+rX ${shellWord(file)}`],
  [/cannot be read/, () => 'look at the disk that it lies on, or move it away'],
  [/symbolic link/, () => 'put what it leads to in its place, or remove it'],
  [/larger than/, () => 'split it, or raise "limits" in the settings'],
  [/name/, () => 'rename it'],
  [/too deep/, () => `move it up: folders may be ${DEPTH_MAX - 1} levels deep`],
];

function hintFor(reason: string, file: string): string {
  return HINTS.find(([pattern]) => pattern.test(reason))?.[1](file) ?? 'move it away';
}
