import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { settleStops, uncleanStops } from '../../daemon/unclean-stop.js';
import { MendError, usageError } from '../../errors.js';
import { type BackupContents, openBackup } from '../../store/backup-file.js';
import { newestSchema } from '../../store/migrate.js';
import { NamedSessions } from '../../store/named-sessions.js';
import { openReadOnly } from '../../store/read-only.js';
import { replaceStore } from '../../store/replace-store.js';
import { hasScratches } from '../../store/scratch-folder.js';
import { currentFolder, hasStore, ownStoreFolder } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { complain, counted, printLine, quoted } from '../output.js';
import type { Run } from '../program.js';
import { refuseServed } from '../served-store.js';

export function addStoreRestore(command: Command, run: Run): void {
  command
    .description('put a backup in the place of the store, which is kept beside it')
    .argument('<file>', 'a backup, or a store that was replaced')
    .option('--dry-run', 'only check the backup and say what would be done')
    .addHelpText('after', HELP)
    .action((file: string, options: { dryRun?: boolean }) => run(() => restore(file, options.dryRun === true)));
}

const HELP = `
The backup is checked first and is not changed. Nothing may be mounted, but
with --dry-run, which changes nothing. A backup of an older mend is brought up
to date when the store is used next.

Whatever was purged after the backup was made is in the store again: purge it
once more. The next mount takes in what lies in the plain memory folders.`;

async function restore(text: string, isDry: boolean): Promise<ExitStatus> {
  if (text === '') throw usageError('the backup has no name: name a file');
  const folder = ownStoreFolder();
  const first = await refusalNow(folder);
  if (first !== undefined && !isDry) throw first;
  const isThere = hasStore();
  const file = resolve(currentFolder(), text);
  const { db, holds } = openBackup(file, folder);
  try {
    const what = `${quoted(file)} (${describe(holds)})`;
    if (isDry) {
      printLine(`would restore the store from ${what}`);
      if (isThere) printLine(`would keep the store that is there beside it, in ${quoted(folder)}`);
      if (first !== undefined) complain(`it cannot be done now: ${first.message}`);
      return ExitStatus.done;
    }
    // Checking a large backup takes a while.
    await refuseServed(folder);
    const kept = replaceStore(folder, db, new Date());
    // What a daemon left that died was about the other one.
    const files = runtimeFiles(folder);
    settleStops(files, uncleanStops(files));
    printLine(`restored the store from ${what}`);
    if (kept !== undefined) printLine(`the store that was there is kept as ${quoted(join(folder, kept))}`);
    printLine('what was purged after the backup was made is there again: purge it once more');
  } finally {
    db.close();
  }
  return ExitStatus.done;
}

/** Why the store cannot be replaced now; undefined when nothing is in the way. */
async function refusalNow(folder: string): Promise<MendError | undefined> {
  try {
    await refuseServed(folder);
    refuseUnended(folder);
    return undefined;
  } catch (error) {
    if (error instanceof MendError) return error;
    throw error;
  }
}

/** A backup would not know that a session is shared, and that is not to be undone. */
function refuseUnended(folder: string): void {
  const db = hasScratches(folder) ? openReadOnly(folder) : undefined;
  try {
    const [session] = db ? new NamedSessions(db).shared() : [];
    if (session)
      throw new MendError(`session "${session.name}" is shared: run "mend session end ${session.name}" first`);
  } catch (error) {
    // The store may well be damaged: nothing that it has can be lost then.
    if (error instanceof MendError) throw error;
    complain('whether a session is shared cannot be read from the store that is there');
  } finally {
    db?.close();
  }
}

function describe({ schema, projects, files }: BackupContents): string {
  const old = schema === newestSchema() ? '' : `, of schema ${schema}`;
  return `${counted(files, 'file')} of ${counted(projects, 'project')}${old}`;
}
