import type { Command } from 'commander';
import { MendError, usageError } from '../../errors.js';
import { nameFault } from '../../project/name.js';
import { projectByName } from '../../project/resolve.js';
import { withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { printLine } from '../output.js';

export function addProjectRename(command: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  command
    .description('give a project another name')
    .argument('<old>', 'its name')
    .argument('<new>', 'the name it is to have')
    .action((old: string, name: string) => run(() => rename(old, name)));
}

async function rename(old: string, name: string): Promise<ExitStatus> {
  const fault = nameFault(name);
  if (fault !== undefined) throw usageError(`the new name ${fault}: choose another`);
  await withStore(false, ({ projects }) =>
    projects.immediate(() => {
      const project = projectByName(projects, old);
      const taken = projects.byName(name);
      if (taken && taken.id !== project.id)
        throw new MendError(`there is a project "${name}" already: choose another name`);
      projects.rename(project.id, name);
    }),
  );
  printLine(old === name ? `project "${name}" has that name already` : `renamed project "${old}" to "${name}"`);
  return ExitStatus.done;
}
