import type { Command } from 'commander';
import { projectByName } from '../../project/resolve.js';
import { linkCheckout } from '../../project/settle.js';
import { repositoryOf, withStore } from '../context.js';
import type { ExitStatus } from '../exit-status.js';
import { giveCheckout } from '../give-checkout.js';

export function addProjectLink(command: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  command
    .description('have a checkout belong to a project from now on')
    .argument('<name>', 'the project')
    .argument('[folder]', 'a folder of the checkout (default: this one)')
    .addHelpText('after', HELP)
    .action((name: string, folder: string | undefined) => run(() => link(name, folder)));
}

const HELP = `
This settles it when the folder of a checkout is known for one project and its
remote for another, or when the URL of its remote is new. Other checkouts stay
with the projects that they belong to. Memory stays with its project, too:
what another project has in the memory folder of this checkout is put aside in
a folder beside it.`;

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
