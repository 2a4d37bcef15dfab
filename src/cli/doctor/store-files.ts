import { existsSync, lstatSync, readdirSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { refuseReplaced } from '../../daemon/unclean-stop.js';
import { isSystemError } from '../../errors.js';
import { shellWord } from '../../project/shell-word.js';
import { type BackupKind, backupKind, unfinishedBy } from '../../store/backup-names.js';
import { STORE_FILE, storeFolderExists } from '../../store/location.js';
import { displaced, isDisplaced } from '../../store/place.js';
import { counted, quoted, sized } from '../output.js';
import type { Examined } from './examined.js';
import { ok, orOk, problem, problemOf, type Result, warning } from './finding.js';

/** The folder of the store is a folder of this user that nobody else can enter. */
export function checkFolder({ folder, folderAnswers, uid }: Examined): readonly Result[] {
  if (folder === undefined) return [problem('there is no folder for the store', 'correct MEND_STORE_DIR')];
  if (!folderAnswers)
    return [
      problem(`${quoted(folder)} lies in a mount that does not answer`, 'take that mount off, or set MEND_STORE_DIR'),
    ];
  try {
    if (!storeFolderExists(folder)) return [ok(`no store yet: it will be made in ${quoted(folder)}`)];
  } catch (error) {
    return [problemOf(error)];
  }
  const store = join(folder, STORE_FILE);
  if (isDisplaced(store)) return [problemOf(displaced(store))];
  try {
    refuseReplaced(folder);
  } catch (error) {
    return [problemOf(error)];
  }
  if ((lstatSync(folder).mode & 0o077) !== 0)
    return [problem(`others may enter the store's folder ${quoted(folder)}`, `run "chmod 700 ${shellWord(folder)}"`)];
  const faults = ['', '-wal', '-shm'].flatMap((end) => {
    const file = join(folder, STORE_FILE + end);
    const stat = lstatSync(file, { throwIfNoEntry: false });
    if (!stat) return [];
    if (!stat.isFile()) return [problem(`${quoted(file)} is not a regular file`, 'move it away')];
    if (stat.uid !== uid)
      return [problem(`${quoted(file)} belongs to user ${stat.uid}`, 'set MEND_STORE_DIR to a folder of yours')];
    if ((stat.mode & 0o077) === 0) return [];
    return [problem(`others may read the store ${quoted(file)}`, `run "chmod 600 ${shellWord(file)}"`)];
  });
  return orOk(faults, `the store in ${quoted(folder)} is yours alone`);
}

/** File systems by statfs(2)'s `f_type` on which SQLite's write-ahead log is not safe. */
const UNSAFE = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x65735546, 'FUSE'],
]);
const TMPFS = 0x01021994;

/** The store lies on a disk of this machine. */
export function checkFileSystem({ folder, folderAnswers }: Examined): readonly Result[] {
  const at = folder !== undefined && folderAnswers ? nearest(folder) : undefined;
  if (at === undefined) return [];
  const { type } = statfsSync(at);
  const unsafe = UNSAFE.get(type >>> 0);
  const elsewhere = 'set MEND_STORE_DIR to a folder on a disk of this machine';
  if (unsafe !== undefined)
    return [problem(`the store would lie on ${unsafe}, where its log is not safe (${quoted(at)})`, elsewhere)];
  if (type >>> 0 === TMPFS) return [warning(`the store lies in memory (tmpfs) and is gone after a restart`, elsewhere)];
  return [ok('the store lies on a disk of this machine')];
}

/** Free bytes under which saves are in danger, and under which there is little left. */
const NO_SPACE = 16 * 1024 ** 2;
const LITTLE_SPACE = 128 * 1024 ** 2;

/** There is room for what will be written. */
export function checkSpace({ folder, folderAnswers }: Examined): readonly Result[] {
  const at = folder !== undefined && folderAnswers ? nearest(folder) : undefined;
  if (at === undefined) return [];
  const { bavail, bsize } = statfsSync(at);
  const free = bavail * bsize;
  const message = `${sized(free)} are free where the store lies`;
  if (free >= LITTLE_SPACE) return [ok(message)];
  const fault = free < NO_SPACE ? problem : warning;
  return [fault(`only ${message}`, 'free some space: a save fails when the disk is full')];
}

/** Age, in days, from which a backup is of no more use. */
const STALE_DAYS = 30;
const DAY = 24 * 60 * 60 * 1000;

/** Copies that mend made by itself, in words; those of `mend store backup` stay for as long as somebody wants them. */
const BY_ITSELF: Partial<Record<BackupKind, string>> = {
  schema: 'is a backup from before an upgrade',
  replaced: 'is the store that "mend store restore" put another in the place of',
  rescued: 'was saved when the store was taken from its place while it was in use',
};

/** Copies of the store beside it, which hold memory that may have been removed since. */
export function checkBackups({ folder, folderAnswers }: Examined): readonly Result[] {
  const names = folder !== undefined && folderAnswers ? namesIn(folder) : undefined;
  if (folder === undefined || names === undefined) return [];
  const kept = names.flatMap((name) => {
    const kind = backupKind(name);
    const stat = kind && lstatSync(join(folder, name), { throwIfNoEntry: false });
    return kind && stat ? [{ file: join(folder, name), what: BY_ITSELF[kind], stat }] : [];
  });
  const faults = kept.flatMap(({ file, what, stat }) => {
    const days = Math.floor((Date.now() - stat.mtimeMs) / DAY);
    if (what === undefined || days < STALE_DAYS) return [];
    return [
      warning(
        `${quoted(file)} (${sized(stat.size)}) ${what}, ${days} days old, with what was removed since`,
        `delete it when all is well: rm ${shellWord(file)}`,
      ),
    ];
  });
  const bytes = kept.reduce((sum, { stat }) => sum + stat.size, 0);
  return orOk(
    faults,
    kept.length === 0 ? 'no backup is kept beside the store' : `${counted(kept.length, 'backup')}, ${sized(bytes)}`,
  );
}

/** What a command that was killed left in the store's folder. The daemon takes its own leftovers away when it starts. */
export function checkLeftovers({ folder, folderAnswers }: Examined): readonly Result[] {
  const names = folder !== undefined && folderAnswers ? namesIn(folder) : undefined;
  if (folder === undefined || names === undefined) return [];
  const faults = names.flatMap((name) => {
    const pid = unfinishedBy(name);
    const abandoned = pid !== undefined && !existsSync(`/proc/${pid}`);
    if (!abandoned && !/^machine-id\.[0-9a-f]{8}\.tmp$/.test(name)) return [];
    const file = join(folder, name);
    return [warning(`${quoted(file)} was left by a mend that was killed`, `delete it: rm ${shellWord(file)}`)];
  });
  return orOk(faults, 'nothing was left behind in the folder of the store');
}

/** The nearest folder at or above a path that is there. */
function nearest(path: string): string | undefined {
  for (let at = path; ; at = dirname(at)) {
    try {
      if (lstatSync(at, { throwIfNoEntry: false })) return at;
    } catch (error) {
      if (!isSystemError(error)) throw error;
    }
    if (at === '/') return undefined;
  }
}

function namesIn(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}
