import { existsSync } from 'node:fs';
import { isAbsolute, normalize } from 'node:path';
import type { Command } from 'commander';
import { MendError, usageError } from '../../errors.js';
import { printable } from '../../project/printable.js';
import { projectByName } from '../../project/resolve.js';
import { linkCheckout } from '../../project/settle.js';
import { machineName, namedMachine } from '../../store/machines.js';
import { repositoryOf, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { giveCheckout } from '../give-checkout.js';
import { printLine, quoted } from '../output.js';

export function addProjectLink(command: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  command
    .description('have a checkout belong to a project from now on')
    .argument('<name>', 'the project')
    .argument('[folder]', 'a folder of the checkout (default: this one)')
    .option('--machine <name>', 'the folder is, or was, on this machine, and is not looked at')
    .addHelpText('after', HELP)
    .action((name: string, folder: string | undefined, { machine }: { machine?: string }) =>
      run(() => (machine === undefined ? link(name, folder) : linkPath(name, folder, machine))),
    );
}

const HELP = `
This settles it when the folder of a checkout is known for one project and its
remote for another, or when the URL of its remote is new. Other checkouts stay
with the projects that they belong to. Memory stays with its project, too:
what another project has in the memory folder of this checkout is put aside in
a folder beside it.

With --machine only the path is noted down, for notes that say which checkout
they are of: that of a checkout on another machine, or of one that was moved.`;

/** Notes the path of a checkout down that is not here to be looked at. */
async function linkPath(name: string, folder: string | undefined, host: string): Promise<ExitStatus> {
  if (folder === undefined || !isAbsolute(folder))
    throw usageError('--machine needs the absolute path of the checkout on that machine: name it after the project');
  if (printable(folder) !== folder || printable(host) !== host || host.trim() !== host || host === '')
    throw usageError('the path or the machine has control characters, or the machine no name: give them as they are');
  const path = normalize(folder).replace(/(?<=.)\/$/, '');
  return withStore(false, async (store) => {
    store.write(() => {
      const { id } = projectByName(store.projects, name);
      const isHere = host === machineName(store.db, store.machine);
      if (isHere && existsSync(path))
        throw new MendError(`${quoted(path)} is a folder of this machine: leave out --machine`);
      const machine = isHere ? store.machine : namedMachine(store.db, host);
      const before = store.projects.find({ kind: 'path', machine, value: path });
      if (before?.id !== id) store.projects.settlePath(id, machine, path, null);
    }, true);
    printLine(`${quoted(path)} on ${quoted(host)} is known as a checkout of project "${name}" now`);
    return ExitStatus.done;
  });
}

async function link(name: string, folder: string | undefined): Promise<ExitStatus> {
  return withStore(false, async (store) => {
    projectByName(store.projects, name);
    const repository = await repositoryOf(folder);
    return giveCheckout(store, repository, () => {
      const project = projectByName(store.projects, name);
      return linkCheckout(store.projects, repository, project, store);
    });
  });
}
