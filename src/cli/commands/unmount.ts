import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { statusRequest, unmountRequest } from '../../daemon/control-protocol.js';
import { removeDeadMounts } from '../../daemon/dead-mounts.js';
import { askDaemon } from '../../daemon/launch.js';
import { mountAbove } from '../../daemon/mount-point.js';
import { MendError, usageError } from '../../errors.js';
import type { MemoryHarness } from '../../harness/adapter.js';
import { memoryHarness, memoryHarnesses, withArchive } from '../../harness/registry.js';
import { STORE_FILE, storeExists, storeFolderExists } from '../../store/location.js';
import { isDisplaced } from '../../store/place.js';
import { currentFolder, knownProject, ownStoreFolder, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { possibleFolders } from '../harness-place.js';
import { complain, printLine, quoted } from '../output.js';

const NOT_MOUNTED = 'nothing is mounted for this project here: "mend status" shows what is';

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
    .summary('write the memory back and take the mount off')
    .argument(
      '[folder]',
      'a mounted folder, or a folder of the repository, whose mounts in all checkouts here are meant (default: this one)',
    )
    .option('--project <name>', 'the project, from any folder')
    .option('--harness <name>', 'only this harness')
    .option('--all', 'every mount')
    .option('--force', 'also mounts with open files; what was not closed yet is kept as a version')
    .action((folder: string | undefined, options: UnmountOptions) => run(() => unmount(folder, options)));
}

async function unmount(folder: string | undefined, options: UnmountOptions): Promise<ExitStatus> {
  if (options.all && (folder !== undefined || options.project !== undefined))
    throw usageError('--all takes every mount: leave out the folder and --project');
  if (folder !== undefined && options.project !== undefined) throw usageError('give a folder or --project, not both');
  const store = ownStoreFolder();
  if (!storeFolderExists(store)) return nothing(options);
  const paths = await chosenPaths(folder, options);
  const request = { ...(paths ? { paths } : {}), force: options.force === true };
  const served = await askDaemon(store, (rpc) => rpc.sendRequest(unmountRequest, request));
  // A store that was moved away while it is in use is known to nobody but its daemon.
  const isThere = storeExists(store) && !isDisplaced(join(store, STORE_FILE));
  const left = isThere
    ? await withStore(false, (opened) => removeDeadMounts(opened, paths))
    : { unmounted: [], skipped: [] };
  const unmounted = [...(served?.unmounted ?? []), ...left.unmounted];
  const skipped = [...(served?.skipped ?? []), ...left.skipped];
  const failed = served?.failed ?? [];
  for (const path of unmounted) printLine(`unmounted ${quoted(path)}`);
  for (const { path, reason } of skipped) complain(`left as it was: ${quoted(path)} ${reason}`);
  for (const { path, reason } of failed) complain(`cannot unmount ${quoted(path)}: ${reason}`);
  if (unmounted.length === 0) return failed.length > 0 ? ExitStatus.failed : nothing(options);
  return failed.length > 0 || skipped.length > 0 ? ExitStatus.unsettled : ExitStatus.done;
}

/** Nothing to do is what `--all` wants; who means one mount is told that there is none. */
function nothing({ all }: UnmountOptions): ExitStatus {
  if (!all) throw new MendError(NOT_MOUNTED);
  printLine('nothing is mounted');
  return ExitStatus.done;
}

/** The mount points meant: a folder that is one, else the memory folders of the project's checkouts here; undefined for all. */
async function chosenPaths(folder: string | undefined, options: UnmountOptions): Promise<string[] | undefined> {
  // Whatever the settings say now: what is mounted can be taken off.
  const harnesses = options.harness === undefined ? memoryHarnesses : withArchive(memoryHarness(options.harness));
  if (options.all) return undefined;
  const named = options.project === undefined ? resolve(currentFolder(), folder ?? '.') : undefined;
  const mount = named === undefined ? undefined : mountAbove(named);
  if (mount !== undefined) return [mount];
  return withStore(false, async (store) => {
    const project = await knownProject(store, options.project, named, NOT_MOUNTED);
    const checkouts = store.projects.list(store.machine).find((row) => row.id === project.id)?.paths ?? [];
    const folders = checkouts.flatMap((root) =>
      harnesses.flatMap((harness) => possibleFolders(harness, root, { store, project })),
    );
    return [...folders, ...(await movedMounts(project.name, harnesses))];
  });
}

/** Mounts of a project that are not where they came up, since a folder above them was renamed. */
async function movedMounts(project: string, harnesses: readonly MemoryHarness[]): Promise<string[]> {
  const status = await askDaemon(ownStoreFolder(), (rpc) => rpc.sendRequest(statusRequest));
  return (status?.mounts ?? []).flatMap(({ moved, ...mount }) =>
    moved !== null && mount.project === project && harnesses.some(({ name }) => name === mount.harness) ? [moved] : [],
  );
}
