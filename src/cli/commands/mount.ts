import type { Command } from 'commander';
import {
  isForPeople,
  type MountAnswer,
  type MountRequest,
  mountRequest,
  statusRequest,
} from '../../daemon/control-protocol.js';
import { Daemon } from '../../daemon/daemon.js';
import { askDaemon, askStartedDaemon } from '../../daemon/launch.js';
import { checkMountPoint, MOUNT_TYPE, mountTable, realPath } from '../../daemon/mount-point.js';
import { checkFuse } from '../../daemon/preflight.js';
import { MendError, usageError } from '../../errors.js';
import type { MemoryHarness } from '../../harness/adapter.js';
import { discoverRepository } from '../../project/repository.js';
import { projectByName } from '../../project/resolve.js';
import type { Store } from '../../store/store.js';
import { chosenHarnesses, harnessEnvironment, ownStoreFolder, projectOf, repositoryOf, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { complain, counted, printLine, quoted } from '../output.js';

const SERVED = 'a daemon serves this store already: leave out --foreground, or run "mend unmount --all" first';

interface MountOptions {
  readonly project?: string;
  readonly harness?: string;
  readonly all?: boolean;
  readonly foreground?: boolean;
}

export function addMount(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  program
    .command('mount')
    .description("mount agents' memory of a repository over their memory folders")
    .argument('[checkout]', 'a folder of the repository (default: this one)')
    .option('--project <name>', 'the project, from any folder')
    .option('--harness <name>', 'only this harness')
    .option('--all', 'every project that has a checkout on this machine')
    .option('--foreground', 'serve in this process until everything is unmounted')
    .action((folder: string | undefined, options: MountOptions) => run(() => mount(folder, options)));
}

async function mount(folder: string | undefined, options: MountOptions): Promise<ExitStatus> {
  if (options.all && (folder !== undefined || options.project !== undefined))
    throw usageError('--all takes every project: leave out the folder and --project');
  if (folder !== undefined && options.project !== undefined) throw usageError('give a folder or --project, not both');
  const harnesses = chosenHarnesses(options.harness);
  const store = ownStoreFolder();
  const running = await daemonRuns(store);
  if (!running) checkFuse();
  if (running && options.foreground) throw new MendError(SERVED);
  const requests = await requestsOf(folder, options, harnesses, !running);
  if (requests.length === 0)
    throw new MendError('no project has a checkout on this machine: run "mend mount" in one first');
  return options.foreground ? serveHere(requests) : serveInBackground(requests);
}

async function daemonRuns(store: string): Promise<boolean> {
  return (await askDaemon(store, (rpc) => rpc.sendRequest(statusRequest))) !== undefined;
}

/**
 * What is to be mounted. Whatever can be refused is refused before the store is made or changed.
 * @param closely looks for damage in the store
 */
async function requestsOf(
  folder: string | undefined,
  options: MountOptions,
  harnesses: readonly MemoryHarness[],
  closely: boolean,
): Promise<MountRequest[]> {
  if (options.all) return withStore(false, (store) => everyProject(store, harnesses), closely);
  if (options.project !== undefined) {
    const name = options.project;
    return withStore(false, (store) => namedProject(store, name, harnesses), closely);
  }
  const repository = await repositoryOf(folder);
  await check(requestsFor(0, repository.root, harnesses));
  return withStore(true, (store) => requestsFor(projectOf(store, repository).id, repository.root, harnesses), closely);
}

async function namedProject(store: Store, name: string, harnesses: readonly MemoryHarness[]): Promise<MountRequest[]> {
  const project = projectByName(store.projects, name);
  const checkout = store.projects.list(store.machine).find((row) => row.id === project.id)?.paths[0];
  if (checkout === undefined)
    throw new MendError(`project "${project.name}" has no checkout on this machine: run "mend mount" in one`);
  const requests = requestsFor(project.id, checkout, harnesses);
  await check(requests);
  return requests;
}

/** Refuses what cannot be mounted on. A mount of mend that is there already is for the daemon to judge, when one runs. */
async function check(requests: readonly MountRequest[]): Promise<void> {
  for (const { path } of requests) {
    const ours = mountTable().get(realPath(path)) === MOUNT_TYPE && (await daemonRuns(ownStoreFolder()));
    if (!ours) await checkMountPoint(path);
  }
}

async function everyProject(store: Store, harnesses: readonly MemoryHarness[]): Promise<MountRequest[]> {
  const requests: MountRequest[] = [];
  for (const { id, name, paths } of store.projects.list(store.machine)) {
    for (const path of paths) {
      try {
        await discoverRepository(path);
        requests.push(...requestsFor(id, path, harnesses));
      } catch (error) {
        if (!(error instanceof MendError)) throw error;
        complain(`left out ${quoted(path)} of project "${name}": ${error.message}`);
      }
    }
  }
  return requests;
}

function requestsFor(project: number, checkout: string, harnesses: readonly MemoryHarness[]): MountRequest[] {
  const env = harnessEnvironment();
  return harnesses.map((harness) => ({
    project,
    harness: harness.name,
    path: harness.memoryFolder(checkout, env),
    checkout,
  }));
}

function serveInBackground(requests: readonly MountRequest[]): Promise<ExitStatus> {
  return askStartedDaemon(ownStoreFolder(), (rpc) =>
    mountAll(requests, (request) => rpc.sendRequest(mountRequest, request)),
  );
}

/** Mounts one after the other. One that fails does not keep the others from being tried. */
async function mountAll(
  requests: readonly MountRequest[],
  mountOne: (request: MountRequest) => Promise<MountAnswer>,
): Promise<ExitStatus> {
  const statuses: ExitStatus[] = [];
  for (const request of requests) {
    try {
      statuses.push(tell(await mountOne(request)));
    } catch (error) {
      if (!isForPeople(error)) throw error;
      complain(error.message);
      statuses.push(ExitStatus.failed);
    }
  }
  if (statuses.every((status) => status === ExitStatus.failed)) return ExitStatus.failed;
  return statuses.every((status) => status === ExitStatus.done) ? ExitStatus.done : ExitStatus.unsettled;
}

async function serveHere(requests: readonly MountRequest[]): Promise<ExitStatus> {
  process.chdir('/');
  process.umask(0o077);
  const daemon = await Daemon.start(ownStoreFolder());
  if (!daemon) throw new MendError(SERVED);
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
    daemon.whenIdle(resolve);
  });
  try {
    const status = await mountAll(requests, (request) => daemon.mounter.mount(request));
    if (status !== ExitStatus.failed) await ended;
    return status;
  } finally {
    await daemon.stop();
  }
}

function tell({ path, already, taken, skipped }: MountAnswer): ExitStatus {
  printLine(`${already ? 'already mounted' : 'mounted'} ${quoted(path)}`);
  const changed = ['added', 'updated', 'conflict'].reduce((sum, outcome) => sum + (taken[outcome] ?? 0), 0);
  if (changed > 0) printLine(`took in ${counted(changed, 'file')} that lay there`);
  const conflicts = taken['conflict'] ?? 0;
  if (conflicts > 0)
    complain(
      `${counted(conflicts, 'file')} changed in the folder and in the store: the newer content is used, the other is kept; see "mend memory log"`,
    );
  for (const file of skipped) complain(`left out ${quoted(file.path)}: it ${file.reason}`);
  return conflicts > 0 || skipped.length > 0 ? ExitStatus.unsettled : ExitStatus.done;
}
