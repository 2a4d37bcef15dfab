import { hash } from 'node:crypto';
import { isSystemError, MendError } from '../../errors.js';
import type { Reading } from '../../import/credit/manifest.js';
import {
  type FolderListing,
  type FoundFile,
  listFolder,
  readListed,
  type Skipped,
} from '../../import/folder-reader.js';
import { HeldFolder } from '../../import/held-folder.js';
import { quoted } from '../output.js';

/** Largest file that is read, in bytes: no person's settings allow a larger one. */
const FILE_BYTES = 64 * 1024 ** 2;
/** Most files that are read of a folder: no person's settings allow more. */
const FILES = 100_000;

/** The folder of a reading, held open, so that nothing which takes its place, or that of a folder above it, is read. */
export class OpenReading {
  readonly #held: HeldFolder;
  readonly listing: FolderListing;

  private constructor(held: HeldFolder, listing: FolderListing) {
    this.#held = held;
    this.listing = listing;
  }

  /** @throws {MendError} when it cannot be read, or has more than memory can be. */
  static open({ folder, harness }: Reading): OpenReading {
    const held = hold(folder);
    try {
      const listing = listFolder(held.at(), (path) => harness.isLocal(path), FILE_BYTES);
      const whole = listing.skipped.find(({ path }) => path === '.');
      if (whole) throw new MendError(`its folder ${quoted(folder)} ${whole.reason}: make it readable`);
      if (listing.files.length + listing.skipped.length > FILES)
        throw new MendError(`its folder ${quoted(folder)} has more than ${FILES} files: it is no memory folder`);
      return new OpenReading(held, listing);
    } catch (error) {
      held.close();
      throw error;
    }
  }

  read(path: string): FoundFile | Skipped {
    return readListed(this.#held.at(), path, FILE_BYTES);
  }

  /** SHA-256 of each file that can be read, by path. */
  digests(): Map<string, string> {
    return new Map(
      this.listing.files.flatMap((path) => {
        const found = this.read(path);
        return 'reason' in found ? [] : [[path, hash('sha256', found.bytes)] as const];
      }),
    );
  }

  close(): void {
    this.#held.close();
  }
}

function hold(folder: string): HeldFolder {
  try {
    return HeldFolder.openReal(folder);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const shown = quoted(folder);
    const { code } = error;
    // A link in its place is told as either (open(2)).
    if (isSystemError(error, 'ELOOP', 'ENOTDIR'))
      throw new MendError(`its folder ${shown} is no folder, or leads through a symbolic link: give its real path`);
    throw new MendError(`its folder ${shown} cannot be read (${code}): correct the path, or make it readable`);
  }
}
