import { type MountRequest, statusRequest } from '../daemon/control-protocol.js';
import { askDaemon } from '../daemon/launch.js';
import { checkMountPoint, MOUNT_TYPE, mountTable, realPath } from '../daemon/mount-point.js';
import { MendError } from '../errors.js';
import type { MemoryHarness } from '../harness/adapter.js';
import { checkoutsOf } from '../project/checkouts.js';
import type { Repository } from '../project/repository.js';
import { findProject, projectByName } from '../project/resolve.js';
import type { Project } from '../store/projects.js';
import type { Store } from '../store/store.js';
import { ownStoreFolder, projectOf, repositoryOf, withStore } from './context.js';
import type { HarnessChoice } from './harness-choice.js';
import { folderAt, harnessPlace, memoryFolderOf, type PlacedProject } from './harness-place.js';
import { complain, quoted } from './output.js';
import { refuseOtherProjectsFolder } from './plain-folder.js';

/** A mount that is asked for. */
export interface Wanted {
  readonly request: MountRequest;
  /** Name of the project where a command about it needs that; undefined for the project of the current folder. */
  readonly given: string | undefined;
  /** What hinders the harness there: sentences. */
  readonly faults: readonly string[];
}

/** What is mounted, and what hinders the harness. */
type Place = Pick<Wanted, 'request' | 'faults'>;

/** Whether a daemon serves a store here. */
export async function daemonRuns(store: string): Promise<boolean> {
  return (await askDaemon(store, (rpc) => rpc.sendRequest(statusRequest))) !== undefined;
}

/**
 * What is to be mounted, and whether a checkout was left out. Whatever can be refused is refused before the store is
 * made or changed.
 * @param closely looks for damage in the store
 */
export async function wantedMounts(
  folder: string | undefined,
  options: { readonly project?: string | undefined; readonly all?: boolean },
  choose: HarnessChoice,
  closely: boolean,
): Promise<{ readonly wanted: readonly Wanted[]; readonly left: boolean }> {
  if (options.all) return withStore(false, (store) => everyProject(store, choose), closely);
  if (options.project !== undefined) {
    const name = options.project;
    const requests = await withStore(false, (store) => namedProject(store, name, choose), closely);
    return { wanted: requests.map((one) => ({ ...one, given: name })), left: false };
  }
  const repository = await repositoryOf(folder);
  await check(foldersFor(undefined, repository.root, choose(undefined, undefined)));
  return withStore(
    true,
    async (store) => {
      refuseFolders(store, repository, choose);
      const project = projectOf(store, repository);
      const { id, name } = project;
      const given = folder === undefined ? undefined : name;
      const requests = await requestsFor({ store, project }, repository.root, choose(store, id));
      return { wanted: requests.map((one) => ({ ...one, given })), left: false };
    },
    closely,
  );
}

async function namedProject(store: Store, name: string, choose: HarnessChoice): Promise<Place[]> {
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
  const harnesses = choose(store, project.id);
  refuseFolders(store, repository, choose);
  const owner = { store, project };
  await check(foldersFor(owner, repository.root, harnesses));
  return requestsFor(owner, repository.root, harnesses);
}

/** @throws {MendError} when a harness's folder of the checkout holds another project's memory. */
function refuseFolders(store: Store, repository: Repository, choose: HarnessChoice): void {
  const own = (): Project | undefined => findProject(store.projects, repository, store.machine);
  for (const harness of choose(store, own()?.id)) refuseOtherProjectsFolder(store, harness, repository.root, own);
}

/** Refuses what cannot be mounted on. A mount of mend that is there already is for the daemon to judge, when one runs. */
async function check(folders: readonly string[]): Promise<void> {
  for (const path of folders) {
    const ours = mountTable().get(realPath(path)) === MOUNT_TYPE && (await daemonRuns(ownStoreFolder()));
    if (!ours) await checkMountPoint(path);
  }
}

async function everyProject(store: Store, choose: HarnessChoice) {
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
        refuseFolders(store, repository, choose);
        const requests = await requestsFor({ store, project }, repository.root, choose(store, project.id));
        // Checkouts of a project can have one folder.
        const others = requests.filter(({ request }) => wanted.every((one) => one.request.path !== request.path));
        wanted.push(...others.map((one) => ({ ...one, given: project.name })));
      } catch (error) {
        if (!(error instanceof MendError)) throw error;
        leave(repository.root, error.message);
      }
    }
  }
  return { wanted, left: anyLeft };
}

/** The memory folders of a checkout, without those that are made with its project. */
function foldersFor(owner: PlacedProject | undefined, checkout: string, harnesses: readonly MemoryHarness[]): string[] {
  return harnesses.flatMap((harness) => memoryFolderOf(harness, checkout, owner) ?? []);
}

async function requestsFor(
  owner: PlacedProject,
  checkout: string,
  harnesses: readonly MemoryHarness[],
): Promise<Place[]> {
  const project = owner.project.id;
  const requests: Place[] = [];
  for (const harness of harnesses) {
    const place = harnessPlace(harness, checkout, owner);
    await harness.launch.prepare?.(place);
    const path = folderAt(harness, place);
    const faults = harness.launch.faults?.(place).filter(({ minor }) => !minor) ?? [];
    if (path !== undefined)
      requests.push({
        request: { project, harness: harness.name, path, checkout },
        faults: faults.map(({ what, todo }) => `${what}: ${todo}`),
      });
  }
  return requests;
}
