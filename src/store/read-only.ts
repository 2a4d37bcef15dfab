import { closeSync, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { STORE_FILE } from './location.js';

/** How long, in ms, a statement waits for a process that holds the store. */
const BUSY_TIMEOUT = 2000;
/** Largest file, in bytes, that is read into memory as a whole. */
const IMAGE_MAXIMUM = 1024 ** 3;
/** Offsets in the file's header that say whether it has a write-ahead log (SQLite's file format, 1.3.3). */
const JOURNAL_MODES = [18, 19] as const;
/** The value of a file without one, the only kind that can be opened in memory. */
const ROLLBACK_JOURNAL = 1;

/**
 * Opens a store to look into it, and leaves every byte and file of it as it is: nothing is made, migrated or moved from
 * the log into the file. Undefined when there is no store. Errors are SQLite's own.
 *
 * A store that has a log is in use or was left behind by a process that died, and is opened where it is. One without
 * would be given a log by the mere opening, so its bytes are read into memory instead.
 */
export function openReadOnly(folder: string): Database.Database | undefined {
  return openFileReadOnly(join(folder, STORE_FILE));
}

/** The same for any file of a database, such as a backup. */
export function openFileReadOnly(file: string): Database.Database | undefined {
  for (;;) {
    const before = lstatSync(file, { throwIfNoEntry: false });
    if (!before?.isFile()) return undefined;
    if (hasLog(file) || before.size > IMAGE_MAXIMUM)
      return new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT });
    const image = readImage(file);
    // Whoever changes a store makes its log first: without one before and after, the image is of one moment.
    if (image && !hasLog(file)) return openImage(image);
  }
}

function hasLog(file: string): boolean {
  return lstatSync(`${file}-wal`, { throwIfNoEntry: false }) !== undefined;
}

/** The bytes of the file; undefined when it changed meanwhile. */
function readImage(file: string): Buffer | undefined {
  const fd = openSync(file, 'r');
  try {
    const before = fstatSync(fd, { bigint: true });
    const image = readFileSync(fd);
    const after = fstatSync(fd, { bigint: true });
    return after.mtimeNs === before.mtimeNs && image.length === Number(after.size) ? image : undefined;
  } finally {
    closeSync(fd);
  }
}

/** Opens the bytes of a database file in memory; they are changed to say that there is no log. */
export function openImage(image: Buffer, options: Database.Options = { readonly: true }): Database.Database {
  for (const at of JOURNAL_MODES) if (at < image.length) image[at] = ROLLBACK_JOURNAL;
  return new Database(image, options);
}
