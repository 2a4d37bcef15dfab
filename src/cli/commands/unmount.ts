import { resolve } from 'node:path';
import type { Command } from 'commander';
import { MendError } from '../../errors.js';
import { unmountRequest } from '../../daemon/control-protocol.js';
import { mountTable } from '../../daemon/mount-point.js';
import { findDaemon } from '../../daemon/launch.js';
import { chosenHarnesses, harnessEnvironment, knownProject, ownStoreFolder, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { complain, printLine, quoted } from '../output.js';

interface UnmountOptions {
  readonly project?: string;
  readonly harness?: string;
  readonly all?: boolean;
  readonly force?: boolean;
}

export function addUnmount(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  program
    .command('unmount')
    .description('write the memory back to the plain folder and take the mount off')
    .argument('[folder]', 'a mounted folder, or a folder of the repository (default: this one)')
    .option('--project <name>', 'the project, from any folder')
    .option('--harness <name>', 'only this harness')
    .option('--all', 'every mount')
    .option('--force', 'also mounts with open files; what was not closed yet is kept as a version')
    .action((folder: string | undefined, options: UnmountOptions) => run(() => unmount(folder, options)));
}

async function unmount(folder: string | undefined, options: UnmountOptions): Promise<ExitStatus> {
  const client = await findDaemon(ownStoreFolder());
  if (!client) {
    if (options.all) return nothing();
    throw new MendError('nothing is mounted: "mend status" shows what is');
  }
  try {
    const paths = options.all ? undefined : await ownPaths(folder, options);
    const answer = await client.rpc.sendRequest(unmountRequest, { ...(paths ? { paths } : {}), force: options.force === true });
    for (const path of answer.unmounted) printLine(`unmounted ${quoted(path)}`);
    for (const { path, reason } of answer.skipped) complain(`left as it was: ${quoted(path)} ${reason}`);
    for (const { path, reason } of answer.failed) complain(`cannot unmount ${quoted(path)}: ${reason}`);
    if (answer.failed.length > 0) return ExitStatus.failed;
    if (answer.unmounted.length === 0 && paths) throw new MendError('nothing of this project is mounted here: "mend status" shows what is');
    return answer.skipped.length > 0 ? ExitStatus.unsettled : ExitStatus.done;
  } finally {
    client.close();
  }
}

function nothing(): ExitStatus {
  printLine('nothing is mounted');
  return ExitStatus.done;
}

/** The mount points meant: a folder that is one, else the memory folders of the project's checkouts in this environment. */
function ownPaths(folder: string | undefined, options: UnmountOptions): Promise<string[]> {
  const named = folder === undefined ? undefined : resolve(folder);
  if (named !== undefined && mountTable().get(named) === 'fuse.mend') return Promise.resolve([named]);
  return withStore(false, async (store) => {
    const project = await knownProject(store, options.project, named);
    const env = harnessEnvironment();
    const checkouts = store.projects.list(store.machine).find((row) => row.id === project.id)?.paths ?? [];
    return checkouts.flatMap((root) => chosenHarnesses(options.harness).map((harness) => harness.memoryFolder(root, env)));
  });
}
