import type { Command } from 'commander';
import { newProject } from '../../project/settle.js';
import { repositoryOf, withStore } from '../context.js';
import type { ExitStatus } from '../exit-status.js';
import { giveCheckout } from '../give-checkout.js';

export function addProjectNew(command: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  command
    .description('make a checkout a project of its own')
    .argument('[folder]', 'a folder of the checkout (default: this one)')
    .addHelpText('after', HELP)
    .action((folder: string | undefined) => run(() => own(folder)));
}

const HELP = `
The new project begins without memory. That of the project which the checkout
belonged to stays with it, and so do other checkouts. "mend project link" gives
the checkout back.`;

async function own(folder: string | undefined): Promise<ExitStatus> {
  const repository = await repositoryOf(folder);
  return withStore(true, (store) =>
    giveCheckout(store, repository, () => newProject(store.projects, repository, store)),
  );
}
