import type { Command } from 'commander';
import {
  isForPeople,
  type MountAnswer,
  type MountRequest,
  mountRequest,
  statusRequest,
} from '../../daemon/control-protocol.js';
import { askDaemon, askStartedDaemon } from '../../daemon/launch.js';
import { checkMountPoint, MOUNT_TYPE, mountTable, realPath } from '../../daemon/mount-point.js';
import { checkFuse } from '../../daemon/preflight.js';
import { ANOTHER_SERVES, READY } from '../../daemon/readiness.js';
import { Supervisor } from '../../daemon/supervisor.js';
import { MendError, usageError } from '../../errors.js';
import type { MemoryHarness } from '../../harness/adapter.js';
import { checkoutsOf } from '../../project/checkouts.js';
import type { Repository } from '../../project/repository.js';
import { findProject, projectByName } from '../../project/resolve.js';
import type { Project } from '../../store/projects.js';
import type { Store } from '../../store/store.js';
import { chosenHarnesses, harnessEnvironment, ownStoreFolder, projectOf, repositoryOf, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { memoryCommand } from '../memory-command.js';
import { complain, counted, printLine, quoted } from '../output.js';
import { refuseOtherProjectsFolder } from '../plain-folder.js';

const SERVED = 'a daemon serves this store already: leave out --foreground, or run "mend unmount --all" first';

/** A mount that is asked for. */
interface Wanted {
  readonly request: MountRequest;
  /** Name of the project where a command about it needs that; undefined for the project of the current folder. */
  readonly given: string | undefined;
}

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
  const { wanted, left } = await wantedMounts(folder, options, harnesses, !running);
  if (wanted.length === 0)
    throw new MendError(
      left
        ? 'nothing was mounted: settle what was left out, or run "mend mount" in a checkout'
        : 'no project has a checkout on this machine: run "mend mount" in one first',
    );
  const status = await (options.foreground ? serveHere(wanted) : serveInBackground(wanted));
  return left && status === ExitStatus.done ? ExitStatus.unsettled : status;
}

async function daemonRuns(store: string): Promise<boolean> {
  return (await askDaemon(store, (rpc) => rpc.sendRequest(statusRequest))) !== undefined;
}

/**
 * What is to be mounted, and whether a checkout was left out. Whatever can be refused is refused before the store is
 * made or changed.
 * @param closely looks for damage in the store
 */
async function wantedMounts(
  folder: string | undefined,
  options: MountOptions,
  harnesses: readonly MemoryHarness[],
  closely: boolean,
): Promise<{ readonly wanted: readonly Wanted[]; readonly left: boolean }> {
  if (options.all) return withStore(false, (store) => everyProject(store, harnesses), closely);
  if (options.project !== undefined) {
    const name = options.project;
    const requests = await withStore(false, (store) => namedProject(store, name, harnesses), closely);
    return { wanted: requests.map((request) => ({ request, given: name })), left: false };
  }
  const repository = await repositoryOf(folder);
  await check(requestsFor(0, repository.root, harnesses));
  return withStore(
    true,
    (store) => {
      refuseFolders(store, repository, harnesses);
      const { id, name } = projectOf(store, repository);
      const given = folder === undefined ? undefined : name;
      const wanted = requestsFor(id, repository.root, harnesses).map((request) => ({ request, given }));
      return { wanted, left: false };
    },
    closely,
  );
}

async function namedProject(store: Store, name: string, harnesses: readonly MemoryHarness[]): Promise<MountRequest[]> {
  const project = projectByName(store.projects, name);
  const { repositories, left } = await checkoutsOf(store.projects, project, store.machine);
  const [repository] = repositories;
  if (!repository) {
    const why = left.map(({ path, reason }) => `${quoted(path)}: ${reason}`).join('; ');
    throw new MendError(
      why === ''
        ? `project "${project.name}" has no checkout on this machine: run "mend mount" in one`
        : `project "${project.name}" has no checkout on this machine any more (${why}): run "mend mount" in one`,
    );
  }
  refuseFolders(store, repository, harnesses);
  const requests = requestsFor(project.id, repository.root, harnesses);
  await check(requests);
  return requests;
}

/** @throws {MendError} when a harness's folder of the checkout holds another project's memory. */
function refuseFolders(store: Store, repository: Repository, harnesses: readonly MemoryHarness[]): void {
  const own = (): Project | undefined => findProject(store.projects, repository, store.machine);
  for (const harness of harnesses) refuseOtherProjectsFolder(store, harness, repository.root, own);
}

/** Refuses what cannot be mounted on. A mount of mend that is there already is for the daemon to judge, when one runs. */
async function check(requests: readonly MountRequest[]): Promise<void> {
  for (const { path } of requests) {
    const ours = mountTable().get(realPath(path)) === MOUNT_TYPE && (await daemonRuns(ownStoreFolder()));
    if (!ours) await checkMountPoint(path);
  }
}

async function everyProject(store: Store, harnesses: readonly MemoryHarness[]) {
  const wanted: Wanted[] = [];
  let anyLeft = false;
  for (const project of store.projects.list(store.machine)) {
    const { repositories, left } = await checkoutsOf(store.projects, project, store.machine);
    const leave = (path: string, reason: string): void => {
      anyLeft = true;
      complain(`left out ${quoted(path)} of project "${project.name}": ${reason}`);
    };
    for (const { path, reason } of left) leave(path, reason);
    for (const repository of repositories) {
      try {
        refuseFolders(store, repository, harnesses);
        const requests = requestsFor(project.id, repository.root, harnesses);
        wanted.push(...requests.map((request) => ({ request, given: project.name })));
      } catch (error) {
        if (!(error instanceof MendError)) throw error;
        leave(repository.root, error.message);
      }
    }
  }
  return { wanted, left: anyLeft };
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

function serveInBackground(wanted: readonly Wanted[]): Promise<ExitStatus> {
  return askStartedDaemon(ownStoreFolder(), (rpc) =>
    mountAll(wanted, (request) => rpc.sendRequest(mountRequest, request)),
  );
}

/** Mounts one after the other. One that fails does not keep the others from being tried. */
async function mountAll(
  wanted: readonly Wanted[],
  mountOne: (request: MountRequest) => Promise<MountAnswer>,
): Promise<ExitStatus> {
  const statuses: ExitStatus[] = [];
  for (const { request, given } of wanted) {
    try {
      statuses.push(tell(await mountOne(request), given));
    } catch (error) {
      if (!isForPeople(error)) throw error;
      complain(error.message);
      statuses.push(ExitStatus.failed);
    }
  }
  if (statuses.every((status) => status === ExitStatus.failed)) return ExitStatus.failed;
  return statuses.every((status) => status === ExitStatus.done) ? ExitStatus.done : ExitStatus.unsettled;
}

async function serveHere(wanted: readonly Wanted[]): Promise<ExitStatus> {
  process.chdir('/');
  process.umask(0o077);
  const folder = ownStoreFolder();
  let ended: Promise<number> | undefined;
  const words = await new Promise<string>((told) => {
    ended = new Promise((ends) => new Supervisor(folder, told, ends));
  });
  if (words === ANOTHER_SERVES) throw new MendError(SERVED);
  if (words !== READY) throw new MendError(words);
  const status = await askDaemon(folder, (rpc) =>
    mountAll(wanted, (request) => rpc.sendRequest(mountRequest, request)),
  );
  // Without a mount it ends by itself.
  const code = await ended;
  return code === 0 ? (status ?? ExitStatus.failed) : ExitStatus.failed;
}

function tell({ path, already, taken, partly, skipped }: MountAnswer, given: string | undefined): ExitStatus {
  printLine(`${already ? 'already mounted' : 'mounted'} ${quoted(path)}`);
  const changed = ['added', 'updated', 'merged'].reduce((sum, outcome) => sum + (taken[outcome] ?? 0), 0);
  if (changed > 0) printLine(`took in ${counted(changed, 'file')} that lay there`);
  for (const file of partly)
    complain(
      `${quoted(file)} was merged without lines that the store had removed: ${memoryCommand(given, 'log')} has it whole`,
    );
  const conflicts = taken['conflict'] ?? 0;
  if (conflicts > 0)
    complain(
      `${counted(conflicts, 'file')} in the folder could not be merged with what the store has: the store's stays, the folder's is kept as a version, which ${memoryCommand(given, 'log')} lists`,
    );
  for (const file of skipped) complain(`left out ${quoted(file.path)}: it ${file.reason}`);
  return conflicts > 0 || skipped.length > 0 ? ExitStatus.unsettled : ExitStatus.done;
}
