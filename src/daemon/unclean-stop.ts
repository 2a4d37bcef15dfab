import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Depth } from '../store/check/pages.js';
import { sync } from '../store/durable.js';
import { STORE_FILE, storeExists, storeFolderExists } from '../store/location.js';
import { checkFiles } from '../store/open-database.js';
import { ownFolderExists } from './own-file.js';
import { isLocked, locksAreKnown, type RuntimeFiles } from './runtime-files.js';

/** End of the name of the file that says, from a daemon's start to its clean end, that it uses the store. */
const MARK = '.open';

/** Notes on the disk that a daemon uses the store. */
export function markOpen(files: RuntimeFiles): void {
  writeFileSync(markOf(files, files.owner), '', { mode: 0o600 });
  sync(files.folder);
}

/** Notes that it ended, and closed the store. */
export function markClosed(files: RuntimeFiles): void {
  rmSync(markOf(files, files.owner), { force: true });
}

function markOf({ folder }: RuntimeFiles, owner: string): string {
  return join(folder, owner + MARK);
}

/** The daemons that did not end cleanly: their mark is there, and nobody has their lock. */
export function uncleanStops(files: RuntimeFiles): string[] {
  if (!ownFolderExists(files.folder)) return [];
  const marked = readdirSync(files.folder).flatMap((name) =>
    name.endsWith(MARK) ? [name.slice(0, -MARK.length)] : [],
  );
  return marked.length > 0 && locksAreKnown() ? marked.filter((owner) => !isLocked(files, owner)) : [];
}

/** Forgets them, once the store was found sound. */
export function settleStops(files: RuntimeFiles, owners: readonly string[]): void {
  for (const owner of owners) if (!isLocked(files, owner)) rmSync(markOf(files, owner), { force: true });
}

/**
 * Bytes of a store up to which it is looked through at every start, and after an unclean stop as closely as can be: a
 * tenth of a second or so. A larger one (a second for 400 MB, more from a slow disk) is looked through only after an
 * unclean stop, and people are told.
 */
const SMALL = 64 * 1024 * 1024;

/** Whether and how to look for damage in a store before it is used. */
export interface Inspection {
  readonly check: Depth | undefined;
  /** Daemons that did not end cleanly, for `settleStops`. */
  readonly stops: readonly string[];
  /** Bytes of a store with which it takes a while; else undefined. */
  readonly large: number | undefined;
}

/**
 * @param atStart the store is opened to be served
 * @throws {MendError} when the store, or a folder of it, is not this user's alone.
 */
export function inspectionOf(storeFolder: string, files: RuntimeFiles, atStart: boolean): Inspection {
  if (!storeFolderExists(storeFolder)) return { check: undefined, stops: [], large: undefined };
  if (storeExists(storeFolder)) checkFiles(join(storeFolder, STORE_FILE));
  const bytes = ['', '-wal'].reduce(
    (sum, end) => sum + (statSync(join(storeFolder, STORE_FILE + end), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
  const stops = uncleanStops(files);
  const isSmall = bytes <= SMALL;
  if (stops.length > 0) return { check: isSmall ? 'full' : 'quick', stops, large: isSmall ? undefined : bytes };
  return { check: atStart && isSmall ? 'quick' : undefined, stops, large: undefined };
}
