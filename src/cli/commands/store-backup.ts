import { resolve } from 'node:path';
import type { Command } from 'commander';
import { mountAbove } from '../../daemon/mount-point.js';
import { MendError, usageError } from '../../errors.js';
import { backUpStore } from '../../store/back-up.js';
import { currentFolder, hasStore, ownStoreFolder } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { printLine, quoted, sized } from '../output.js';
import type { Run } from '../program.js';

export function addStoreBackup(command: Command, run: Run): void {
  command
    .description('copy the store as it is now into a new file, also while it is mounted')
    .summary('copy the store as it is now into a new file')
    .argument('[file]', 'a new file, or a folder to make one in (default: beside the\nstore, named after the time)')
    .addHelpText('after', HELP)
    .action((file: string | undefined) => run(async () => backup(file)));
}

const HELP = `
The file is one database, checked and on the disk when the command ends. It
holds all memory with its history: keep it where nobody else can read it.
Nothing that is there already is replaced. "mend memory purge" deletes backups
beside the store that hold what is purged, and does not know of others.`;

function backup(file: string | undefined): ExitStatus {
  if (file === '') throw usageError('the backup has no name: name a file or a folder');
  const folder = ownStoreFolder();
  if (!hasStore()) throw new MendError('there is no memory yet: run "mend mount" in a checkout first');
  const target = file === undefined ? undefined : resolve(currentFolder(), file);
  if (target !== undefined && mountAbove(target) !== undefined)
    throw new MendError(`${quoted(target)} lies in a mounted memory folder: name a file outside`);
  const { path, bytes } = backUpStore(folder, target, new Date());
  printLine(`backed up the store to ${quoted(path)} (${sized(bytes)})`);
  return ExitStatus.done;
}
