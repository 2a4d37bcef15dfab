import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { announceToDaemons } from '../../daemon/control-client.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { MendError } from '../../errors.js';
import { memoryHarness } from '../../harness/registry.js';
import { noSuchProject, projectByName } from '../../project/resolve.js';
import { FolderRecords } from '../../store/folder-records.js';
import { forgetProject } from '../../store/forget.js';
import type { Project } from '../../store/projects.js';
import { needsScrub } from '../../store/purge-rows.js';
import { dropBackupsOf } from '../../store/scrub.js';
import type { Store } from '../../store/store.js';
import { confirmName } from '../confirm-name.js';
import { ownStoreFolder, servingDaemons, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { complain, counted, printLine, quoted } from '../output.js';
import { mountsSeen, mountsServed, refuseMounted } from '../project-mounts.js';
import { tellDropped } from '../purge-report.js';
import { wipe, wipeAgain } from '../wipe.js';

export function addProjectForget(command: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  command
    .description('destroy a project with its memory and history, for good')
    .argument('<name>', 'the project')
    .option('--confirm <name>', "the project's name once more, in place of being asked")
    .addHelpText('after', HELP)
    .action((name: string, options: { confirm?: string }) => run(() => forget(name, options.confirm)));
}

const HELP = `
This cannot be undone: the bytes are wiped from the store's files. On a
terminal you are asked to type the name of the project. Plain memory folders
stay as they are; a mount takes in what lies there. The project must not be
mounted.`;

async function forget(name: string, given: string | undefined): Promise<ExitStatus> {
  return withStore(false, async (store) => {
    if (!store.projects.byName(name) && needsScrub(store.db)) {
      // It may be what was forgotten; its name is kept nowhere.
      complain(noSuchProject(name).message);
      return wipeAgain(store, await servingDaemons());
    }
    const project = projectByName(store.projects, name);
    const nameOf = () => project;
    const isOurs = (mount: { project: number }): boolean => mount.project === project.id;
    refuseMounted(await mountsServed(store), nameOf, isOurs);
    const what = `project ${quoted(name)} with ${counted(store.trees.usage(project.id).files, 'file')} and their whole history`;
    await confirmName({ name, noun: 'project', what, deed: 'forgotten', doing: 'forgetting', given });
    // It may have taken a while.
    refuseMounted(await mountsServed(store), nameOf, isOurs);
    const homes = homesOf(store, project);
    const isInHome = (path: string): boolean => homes.includes(dirname(path));
    const folders = new FolderRecords(store.db)
      .foldersOf(store.machine, project.id)
      .filter((path) => existsSync(path) && !isInHome(path));
    const { files, versions } = store.write(() => {
      if (projectByName(store.projects, name).id !== project.id)
        throw new MendError(`another command made a project "${name}" meanwhile: nothing was forgotten; try again`);
      refuseMounted(mountsSeen(store), nameOf, isOurs);
      return forgetProject(store, project.id);
    }, true);
    await announceToDaemons(runtimeFiles(ownStoreFolder()));
    const wiped = wipe(store, await servingDaemons());
    printLine(`forgot project "${name}" with ${counted(files, 'file')} and ${counted(versions, 'version')}`);
    const isDropped = tellDropped(dropBackupsOf(store, project));
    for (const folder of folders)
      printLine(`${quoted(folder)} stays as it is: remove it, too, unless a mount is to take in what lies there`);
    for (const home of homes)
      printLine(
        `${quoted(home)} stays as it is, with the conversations that were held in it: remove it if they are to go`,
      );
    return wiped && isDropped ? ExitStatus.done : ExitStatus.unsettled;
  });
}

/** The homes that harnesses have for a project alone, as far as they are there. */
function homesOf(store: Store, { id }: Project): string[] {
  const trees = store.trees.ofProject(id).filter(({ harness }) => memoryHarness(harness).homePerProject);
  const homes = trees.flatMap((tree) => store.trees.mountsOf(tree.id, store.machine).map((path) => dirname(path)));
  return [...new Set(homes)].filter((home) => existsSync(home)).sort();
}
