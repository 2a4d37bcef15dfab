import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { MOUNT_TYPE } from '../../daemon/mount-point.js';
import { isSystemError, MendError } from '../../errors.js';
import type { MemoryHarness } from '../../harness/adapter.js';
import { obstacleTo } from '../../harness/obstacle.js';
import { listFolder } from '../../import/folder-reader.js';
import type { Repository } from '../../project/repository.js';
import { findProject } from '../../project/resolve.js';
import { shellWord, shellWords } from '../../project/shell-word.js';
import { MemoryFiles } from '../../store/memory-files.js';
import type { Project } from '../../store/projects.js';
import type { Store } from '../../store/store.js';
import { placed, possibleFolders } from '../harness-place.js';
import { counted, quoted } from '../output.js';
import { refuseOtherProjectsFolder } from '../plain-folder.js';
import type { Examined } from './examined.js';
import { orOk, problem, problemOf, type Result, warning } from './finding.js';

/** A folder in which a harness keeps the memory of a checkout. */
export interface MemoryPlace {
  readonly harness: MemoryHarness;
  /** Root of the checkout. */
  readonly root: string;
  /** Where the folder is, or would be. */
  readonly folder: string;
  readonly mounted: boolean;
  /** The project, where there is one. */
  readonly project: Project | undefined;
  /** True for the checkout that the user is in. */
  readonly here: boolean;
}

/** The memory folders of this repository, and of every checkout on this machine that the store knows and that is there. */
export function memoryPlaces(examined: Examined, store: Store | undefined): MemoryPlace[] {
  const { repository, harnesses, mounts } = examined;
  const known =
    store?.projects.list(store.machine).flatMap((project) => project.paths.map((root) => ({ root, project }))) ?? [];
  const own = repository instanceof MendError ? [] : [repository.root];
  const ownProject = projectHere(examined, store);
  const roots = [
    ...known.filter(({ root }) => lstatOf(root) !== undefined),
    ...own.filter((root) => !known.some((one) => one.root === root)).map((root) => ({ root, project: ownProject })),
  ];
  return roots.flatMap(({ root, project }) =>
    harnesses(store, project?.id).flatMap((harness) => {
      try {
        // Of one that is there under several names, the check of shared folders tells.
        const [folder] = possibleFolders(harness, root, store && placed(store, project?.id));
        if (folder === undefined) return [];
        const mounted = mounts.some(({ path, type }) => path === folder && type === MOUNT_TYPE);
        return [{ harness, root, folder, mounted, project, here: own.includes(root) }];
      } catch (error) {
        // What the environment lacks has a check of its own.
        if (error instanceof MendError) return [];
        throw error;
      }
    }),
  );
}

/** The project of the current folder, where there is one and nothing speaks against it. */
export function projectHere({ repository }: Examined, store: Store | undefined): Project | undefined {
  return repository instanceof MendError ? undefined : projectOf(repository, store);
}

function projectOf(repository: Repository, store: Store | undefined): Project | undefined {
  try {
    return store && findProject(store.projects, repository, store.machine);
  } catch (error) {
    // Path and remote disagree, which has a check of its own.
    if (error instanceof MendError) return undefined;
    throw error;
  }
}

/** A memory folder is a real folder of this user. */
export function checkMemoryFolders({ uid }: Examined, places: readonly MemoryPlace[]): readonly Result[] {
  const faults = places
    .filter(({ mounted }) => !mounted)
    .flatMap(({ folder, harness, root, here }) => {
      const path = quoted(folder);
      const stat = lstatOf(folder);
      const way = typeof stat === 'object' ? undefined : obstacleTo(folder);
      if (way) return [problem(`memory folders lie below ${quoted(way.path)}, which ${way.what}`, way.todo)];
      if (stat === 'closed')
        return [problem(`the memory folder ${path} cannot be reached`, 'check who owns the folders above it')];
      if (!stat) return [];
      if (stat.isSymbolicLink())
        return [
          problem(
            `the memory folder ${path} is a symbolic link: ${harness.title} reads and writes nothing through it`,
            `put a folder in its place with what the link leads to, then run "mend mount${here ? '' : ` ${shellWords(root)}`}"`,
          ),
        ];
      if (!stat.isDirectory()) return [problem(`the memory folder ${path} is not a folder`, 'move it away')];
      if (stat.uid !== uid)
        return [
          problem(`the memory folder ${path} belongs to user ${stat.uid}`, 'make it yours, or use a home of your own'),
        ];
      return [];
    });
  return orOk(faults, `${counted(places.length, 'memory folder')} of checkouts here can be used`);
}

/** No memory folder holds the memory of another project: harnesses may give two checkouts one folder. */
export function checkSharedFolders(places: readonly MemoryPlace[], store: Store): readonly Result[] {
  const faults = places.flatMap(({ harness, root, project }) => {
    try {
      refuseOtherProjectsFolder(store, harness, root, () => project);
      return [];
    } catch (error) {
      if (error instanceof MendError) return [problemOf(error)];
      throw error;
    }
  });
  return orOk(faults, 'every project has memory folders of its own');
}

/** Memory that there is for this repository is mounted. Where something is to be settled first, checks of their own say so. */
export function checkUnmounted(
  { repository }: Examined,
  places: readonly MemoryPlace[],
  store: Store | undefined,
): readonly Result[] {
  const own = places.filter((place) => place.here);
  const here = own.filter((place) => place.mounted || isSettled(repository, place, store));
  const faults = here
    .filter(({ mounted }) => !mounted)
    .flatMap((place) => {
      const tree = place.project && store?.trees.find(place.project.id, place.harness.name);
      const stored = tree && store ? new MemoryFiles(store, tree).list().length : 0;
      const plain = isFolder(place.folder) ? listed(place).files.length : 0;
      if (stored === 0 && plain === 0) return [];
      const where = stored > 0 ? counted(stored, 'file') : `${counted(plain, 'file')} in ${quoted(place.folder)}`;
      return [
        warning(
          `this repository has memory that is not mounted (${place.harness.title}, ${where})`,
          'run "mend mount" here, and "mend mount --all" after a restart',
        ),
      ];
    });
  if (here.length < own.length || here.length === 0) return faults;
  return orOk(
    faults,
    here.every(({ mounted }) => mounted)
      ? 'the memory of this repository is mounted'
      : 'this repository has no memory yet',
  );
}

/** False when path and remote speak for different projects, or the folder holds the memory of another one. */
function isSettled(repository: Examined['repository'], place: MemoryPlace, store: Store | undefined): boolean {
  if (!store || repository instanceof MendError) return true;
  try {
    findProject(store.projects, repository, store.machine);
    refuseOtherProjectsFolder(store, place.harness, place.root, () => place.project);
    return true;
  } catch (error) {
    if (error instanceof MendError) return false;
    throw error;
  }
}

/** Temporary files that a write-back left, of a process that is gone. */
export function checkTemporaries(places: readonly MemoryPlace[]): readonly Result[] {
  const faults = places
    .filter(({ mounted, folder }) => !mounted && isFolder(folder))
    .flatMap(({ folder }) =>
      namesUnder(folder)
        .filter((name) => isAbandoned(name))
        .map((name) => {
          const file = join(folder, name);
          return warning(`${quoted(file)} was left by a mend that was killed`, `delete it: rm ${shellWord(file)}`);
        }),
    );
  return orOk(faults, 'no temporary file was left in the plain folders');
}

const TEMPORARY = /(?:^|\/)\.mend\.tmp\.(\d+)\.[0-9a-f]+$/;

function isAbandoned(name: string): boolean {
  const pid = TEMPORARY.exec(name)?.[1];
  return pid !== undefined && lstatOf(`/proc/${pid}`) === undefined;
}

function namesUnder(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch (error) {
    if (isSystemError(error)) return [];
    throw error;
  }
}

/** What lies in the plain folder. */
export function listed({ harness, folder }: MemoryPlace, fileBytes = Number.POSITIVE_INFINITY) {
  return listFolder(folder, (path) => harness.isLocal(path), fileBytes);
}

export function isFolder(path: string): boolean {
  const stat = lstatOf(path);
  return typeof stat === 'object' && stat.isDirectory();
}

function lstatOf(path: string): Stats | 'closed' | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error, 'ENOTDIR')) return undefined;
    if (isSystemError(error)) return 'closed';
    throw error;
  }
}
