import { hostname } from 'node:os';
import { memoryHarness, memoryHarnesses } from '../harness/registry.js';
import { type FolderOwner, folderOwner, foreignFolder, type PlainFolder } from '../project/folder-owner.js';
import type { Repository } from '../project/repository.js';
import { putBack, type SetAside, setAside } from '../project/set-aside.js';
import type { Settlement } from '../project/settle.js';
import { shellWords } from '../project/shell-word.js';
import { FolderRecords } from '../store/folder-records.js';
import type { Project } from '../store/projects.js';
import type { Store } from '../store/store.js';
import { ExitStatus } from './exit-status.js';
import { complain, counted, printLine, quoted } from './output.js';
import { folderSetting, plainFolder } from './plain-folder.js';
import { mountsSeen, mountsServed, type ProjectMount, refuseMounted } from './project-mounts.js';

interface MadeRoom extends SetAside {
  readonly project: Project;
}

/** A memory folder of the checkout. */
interface OwnFolder extends PlainFolder {
  /** True when it is that with the settings at hand; false when it was mounted with others. */
  readonly current: boolean;
}

interface InUse {
  readonly owner: FolderOwner;
  readonly folder: PlainFolder;
}

/**
 * Gives a checkout to a project, has its memory folders make room, and says what it belongs to now.
 * @param settle decides, in a transaction
 * @throws {MendError} when a folder of the checkout is mounted for another project, or cannot make room; nothing is changed then
 */
export async function giveCheckout(
  store: Store,
  repository: Repository,
  settle: () => Settlement,
): Promise<ExitStatus> {
  const served = await mountsServed(store);
  const rooms: MadeRoom[] = [];
  const inUse: InUse[] = [];
  const settlement = attempt(rooms, () =>
    store.write(() => {
      // Before the checkout has changed hands: these were mounted for it.
      const folders = foldersOf(store, repository);
      const settled = settle();
      refuseMounts([...served, ...mountsSeen(store)], store, folders, settled.project);
      for (const folder of folders) {
        const owner = makeRoom(store, folder, settled, rooms);
        if (owner && folder.current) inUse.push({ owner, folder });
      }
      return settled;
    }, true),
  );
  tell(settlement, repository);
  for (const room of rooms) tellRoom(room);
  for (const { owner, folder } of inUse) {
    const setting = folderSetting(folder.harness);
    complain(foreignFolder(owner, folder.path, repository.root, settlement.project, setting).message);
  }
  const settled = inUse.length === 0 && rooms.every(({ changed }) => changed === 0);
  return settled ? ExitStatus.done : ExitStatus.unsettled;
}

/** The memory folders of a checkout, also those that it was mounted on with other settings. */
function foldersOf(store: Store, repository: Repository): OwnFolder[] {
  const records = new FolderRecords(store.db);
  return memoryHarnesses.flatMap((harness) => {
    const folder = plainFolder(harness, repository.root);
    if (!folder) return [];
    const mounted = repository.paths.flatMap((path) => records.mountedFor(store.machine, path, harness.name));
    const paths = new Set([folder.path, ...mounted.map((row) => row.folder)]);
    return [...paths].map((path) => ({ ...folder, path, current: path === folder.path }));
  });
}

/** @throws {MendError} when one of the folders is mounted for another project than that of the checkout now. */
function refuseMounts(
  mounts: readonly ProjectMount[],
  store: Store,
  folders: readonly PlainFolder[],
  { id }: Project,
): void {
  const paths = new Set(folders.map(({ path }) => path));
  const all = store.projects.list(store.machine);
  refuseMounted(
    mounts,
    (project) => all.find((one) => one.id === project),
    ({ path, project }) => paths.has(path) && project !== id,
  );
}

/**
 * Puts aside what lies in a folder of the checkout for other projects, unless another checkout has that folder, too.
 * @param rooms gets what was put aside
 * @returns whom the folder belongs to then; undefined when it is free
 */
function makeRoom(
  store: Store,
  folder: OwnFolder,
  { project, left }: Settlement,
  rooms: MadeRoom[],
): FolderOwner | undefined {
  const isLocal = (path: string): boolean => memoryHarness(folder.harness).isLocal(path);
  for (;;) {
    const owner = folderOwner(store, folder, project.id);
    if (!owner || owner.live) return owner;
    const { id, name } = owner.project;
    // A folder that the checkout had with other settings may be somebody else's with those.
    if (!folder.current && left.every((one) => one.id !== id)) return owner;
    const record = new FolderRecords(store.db)
      .exchanged(store.machine, folder.path)
      .find((one) => one.project.id === id);
    if (!record) return owner;
    rooms.push({ ...setAside(store, folder.path, record.tree, name, isLocal), project: owner.project });
  }
}

function attempt<T>(rooms: readonly SetAside[], work: () => T): T {
  try {
    return work();
  } catch (error) {
    putBack(rooms);
    throw error;
  }
}

function tell({ project, left, remote, remoteOf }: Settlement, { root, origin }: Repository): void {
  printLine(`${quoted(root)} belongs to project "${project.name}" now`);
  const url = quoted(origin?.value ?? '');
  if (remote === 'added') printLine(`so does every checkout of ${url}`);
  if (remote === 'moved')
    printLine(`so does every checkout of ${url}, which was known for project "${remoteOf?.name}"`);
  if (remote === 'stays') printLine(`other checkouts of ${url} stay with project "${remoteOf?.name}"`);
  for (const { name } of left)
    printLine(`project "${name}" keeps its memory: "mend memory --project ${shellWords(name)}" lists it`);
}

function tellRoom({ project, from, to, changed }: MadeRoom): void {
  if (to === undefined) return;
  printLine(`the plain files of project "${project.name}" in ${quoted(from)} are in ${quoted(to)} now`);
  if (changed === 0) return;
  const [is, them] = changed === 1 ? ['is', 'it'] : ['are', 'them'];
  complain(
    `${counted(changed, 'file')} in ${quoted(to)} ${is} not as the memory of project "${project.name}" last had ${them}: ` +
      `"mend memory import --project ${shellWords(project.name)} --from ${shellWords(to)} --machine ${shellWords(hostname())}" takes ${them} in`,
  );
}
