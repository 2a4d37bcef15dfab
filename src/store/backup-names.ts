import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { STORE_FILE } from './location.js';

/** How a copy of a store beside it came about. */
export type BackupKind =
  /** Before an upgrade brought the store to a newer schema. */
  | 'schema'
  /** By `mend store backup`. */
  | 'backup'
  /** What `mend store restore` put another store in the place of. */
  | 'replaced'
  /** By a daemon whose store was taken away while it was in use. */
  | 'rescued';

const STEM = STORE_FILE.replace('.', '\\.');
const MOMENT = '\\d{8}T\\d{6}Z(?:-\\d+)?';
const KINDS: readonly (readonly [BackupKind, RegExp])[] = [
  ['schema', new RegExp(`^${STEM}\\.schema-\\d+\\.backup$`)],
  ['backup', new RegExp(`^${STEM}\\.${MOMENT}\\.backup$`)],
  ['replaced', new RegExp(`^${STEM}\\.${MOMENT}\\.replaced$`)],
  ['rescued', new RegExp(`^${STEM}\\.${MOMENT}\\.rescued$`)],
];
/** A copy that is not complete yet ends with the id of the process that makes it. */
const UNFINISHED = new RegExp(
  `^${STEM}\\.(?:schema-\\d+\\.backup|${MOMENT}\\.(?:backup|replaced|rescued)|restoring)\\.(\\d+)$`,
);

/** What kind of copy of the store has a name; undefined for any other file. */
export function backupKind(name: string): BackupKind | undefined {
  return KINDS.find(([, pattern]) => pattern.test(name))?.[0];
}

/** The process that makes, or made, a copy which is not complete; undefined for any other file. */
export function unfinishedBy(name: string): number | undefined {
  const pid = UNFINISHED.exec(name)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/** Names of all copies of a store in its folder, unfinished ones included. */
export function backupsIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => backupKind(name) !== undefined || unfinishedBy(name) !== undefined);
}

/** A name for a copy made at a time (UTC) that nothing in the folder has; `store.db.20260301T120000Z.backup`. */
export function datedName(folder: string, kind: 'backup' | 'replaced' | 'rescued', at: Date): string {
  const moment = at.toISOString().replace(/[-:]|\.\d+/g, '');
  for (let number = 1; ; number++) {
    const name = `${STORE_FILE}.${moment}${number === 1 ? '' : `-${number}`}.${kind}`;
    if (!lstatSync(join(folder, name), { throwIfNoEntry: false })) return name;
  }
}

/** Deletes a copy of a store and the log that was kept with it. */
export function removeBackup(folder: string, name: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(join(folder, name + end), { force: true });
}
