import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError, MendError } from '../errors.js';
import type { Depth } from '../store/check/pages.js';
import { sync } from '../store/durable.js';
import { identityOf } from '../store/identity.js';
import { STORE_FILE, storeExists, storeFolderExists } from '../store/location.js';
import { checkFiles } from '../store/open-database.js';
import type { StorePlace } from '../store/place.js';
import { ownFolderExists } from './own-file.js';
import { isLocked, locksAreKnown, type RuntimeFiles, runtimeFiles } from './runtime-files.js';
import { giveRoom } from './spare-room.js';

/** End of the name of the file that says, from a daemon's start to its clean end, that it uses the store. */
const MARK = '.open';

/** Notes on the disk that a daemon uses the store, and which files are its database and its log. */
export function markOpen(files: RuntimeFiles, { database = '', log = '' }: Partial<StorePlace> = {}): void {
  const path = markOf(files, files.owner);
  const text = `${database} ${log}\n`;
  if (textOf(path) === text) return;
  try {
    writeFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    // It is there, if empty, and says what matters most.
    if (!isSystemError(error, 'ENOSPC', 'EDQUOT') || textOf(path) === undefined) throw error;
  }
  sync(files.folder);
}

function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/**
 * @throws {MendError} when the folder is not this user's, or the log that lies there is that of a daemon which died, and the database is not: it would be
 * played into another. Where both are others, as in a folder that was copied, or there is no log, nothing is mixed.
 */
export function refuseReplaced(storeFolder: string): void {
  if (!storeFolderExists(storeFolder)) return;
  const files = runtimeFiles(storeFolder);
  const file = join(storeFolder, STORE_FILE);
  const [database = '', log = ''] = ['', '-wal'].map((end) => identityOf(file + end));
  // A daemon that ends takes it away.
  if (log === '' || !statSync(`${file}-wal`, { throwIfNoEntry: false })?.size) return;
  for (const owner of marksIn(files)) {
    const [usedDatabase, usedLog] = textOf(markOf(files, owner))?.trim().split(' ') ?? [];
    if (usedDatabase && usedLog === log && usedDatabase !== database)
      throw new MendError(
        `the store ${file} is not the one that the log beside it belongs to: put that one back, or move ${file}-wal away to use this one as it is`,
      );
  }
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
  const marked = marksIn(files);
  return marked.length > 0 && locksAreKnown() ? marked.filter((owner) => !isLocked(files, owner)) : [];
}

/** The daemons that have a mark. */
function marksIn({ folder }: RuntimeFiles): string[] {
  if (!ownFolderExists(folder)) return [];
  return readdirSync(folder).flatMap((name) => (name.endsWith(MARK) ? [name.slice(0, -MARK.length)] : []));
}

/** Gives back the room on the disk that they kept: whoever opens the store next may need it. */
export function giveRoomOf({ folder }: RuntimeFiles, owners: readonly string[]): void {
  for (const owner of owners) giveRoom(join(folder, `${owner}.room`));
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
 * @throws {MendError} when the store, or a folder of it, is not this user's alone, or another file is in the place of the
 * database.
 */
export function inspectionOf(storeFolder: string, files: RuntimeFiles, atStart: boolean): Inspection {
  if (!storeFolderExists(storeFolder)) return { check: undefined, stops: [], large: undefined };
  if (storeExists(storeFolder)) checkFiles(join(storeFolder, STORE_FILE));
  refuseReplaced(storeFolder);
  const bytes = ['', '-wal'].reduce(
    (sum, end) => sum + (statSync(join(storeFolder, STORE_FILE + end), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
  const stops = uncleanStops(files);
  const isSmall = bytes <= SMALL;
  if (stops.length > 0) return { check: isSmall ? 'full' : 'quick', stops, large: isSmall ? undefined : bytes };
  return { check: atStart && isSmall ? 'quick' : undefined, stops, large: undefined };
}
