import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDead, MOUNT_TYPE, mountTable, realPath } from '../daemon/mount-point.js';
import { isSystemError, MendError, usageError } from '../errors.js';
import type { MemoryHarness } from '../harness/adapter.js';
import { memoryHarness, memoryHarnesses, withArchive } from '../harness/registry.js';
import { carriers } from '../import/carrier.js';
import { listFolder } from '../import/folder-reader.js';
import type { Repository } from '../project/repository.js';
import { shellWord } from '../project/shell-word.js';
import type { Store } from '../store/store.js';
import { currentFolder, harnessEnvironment } from './context.js';
import { memoryFolderOf } from './harness-place.js';
import { quoted } from './output.js';

/** A memory folder that can be imported. */
export interface ImportPlace {
  readonly harness: MemoryHarness;
  readonly folder: string;
  /** The repository that the folder is for. */
  readonly root: string;
  /** What lies at the top of the folder and is another harness's, as in an export. */
  readonly without: readonly string[];
}

/** A memory folder that an import has nothing to do with, and why: a sentence without its end. */
export interface NothingToImport {
  readonly harness: MemoryHarness;
  readonly reason: string;
  /** The harness is not used here at all: nothing is said of it unless it is named. */
  readonly unused?: true;
}

/**
 * The folder where a harness keeps the memory of a repository on this machine.
 * @throws {MendError} when it is no folder of its own.
 */
export async function ownPlace(harness: MemoryHarness, root: string): Promise<ImportPlace | NothingToImport> {
  const folder = memoryFolderOf(harness, root, undefined);
  if (folder === undefined) return userPlace(harness, root);
  const shown = quoted(folder);
  if (mountTable().get(folder) === MOUNT_TYPE) {
    if (await isDead(folder))
      throw new MendError(`${shown} has lost the daemon that served it: run "mend mount ${shellWord(root)}"`);
    return { harness, reason: `${shown} is mounted: its memory is live already` };
  }
  const stat = lstatOf(folder);
  if (!stat)
    return { harness, reason: `${harness.title} keeps no memory for this repository on this machine (${shown})` };
  if (stat.isSymbolicLink())
    throw new MendError(`${shown} is a symbolic link: put a folder in its place, or use --from`);
  if (!stat.isDirectory()) throw new MendError(`${shown} is not a folder: move it away`);
  return { harness, folder, root, without: [] };
}

/** Tells what is no memory in a place. */
export function localIn({ harness, without }: ImportPlace): (path: string) => boolean {
  return (path) => without.includes(path.split('/')[0] ?? path) || harness.isLocal(path);
}

/** The home in which a harness keeps the memory of all repositories. */
function userPlace(harness: MemoryHarness, root: string): ImportPlace | NothingToImport {
  const home = carriers[harness.name]?.userHome(harnessEnvironment());
  if (home !== undefined && lstatOf(home)) return { harness, folder: realPath(home), root, without: [] };
  const reason = `${harness.title} keeps no memory on this machine${home === undefined ? '' : ` (${quoted(home)})`}`;
  return { harness, reason, unused: true };
}

/**
 * The memory in a copy that was brought from elsewhere: that of the harness named, with its archive where the copy has it,
 * else that of every harness that it has.
 * @throws {MendError} when there is none, or more than memory.
 */
export function copiedPlaces(name: string | undefined, root: string, copy: string): readonly ImportPlace[] {
  if (copy === '') throw usageError('the name of the folder for --from is empty: name the folder with the copy');
  const shown = quoted(copy);
  let folder = resolve(currentFolder(), copy);
  let names: string[];
  try {
    folder = realpathSync(folder);
    if (!statSync(folder).isDirectory()) throw new MendError(`${shown} is not a folder: name a folder for --from`);
    names = readdirSync(folder);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new MendError(`the folder ${shown} cannot be read (${error.code}): check the path given to --from`);
  }
  if (folder === root)
    throw new MendError(`${shown} is the repository itself: name the folder with the copy of its memory for --from`);
  const has = (path: string): boolean => isWithin(folder, path);
  refuseMixed(shown, name, has, (within) => (has(within) ? readdirSync(join(folder, within)) : names));
  const [first, ...others] = name === undefined ? memoryHarnesses : withArchive(memoryHarness(name));
  const places = others.flatMap((harness) => {
    const within = has(harness.name) ? harness.name : harness.memoryInCopy(root, has, names);
    // A folder that only may be one harness's is the first's. One that mixes projects is read when it is named.
    if (within === undefined || within === '.' || harness.homePerProject) return [];
    return [{ harness, folder: join(folder, within), root, without: [] }];
  });
  const without = places.flatMap(({ harness }) => (has(harness.name) ? [harness.name] : []));
  const own = names.filter((one) => !without.includes(one));
  const within = first && (has(first.name) && name !== undefined ? first.name : first.memoryInCopy(root, has, own));
  if (first && within !== undefined)
    return [{ harness: first, folder: join(folder, within), root, without: within === '.' ? without : [] }, ...places];
  if (places.length > 0) return places;
  throw new MendError(
    `${shown} holds other files than memory, and no memory of ${first?.title} for a repository at this path: name the memory folder itself for --from`,
  );
}

/**
 * The memory of a harness with a home for each project cannot be taken from its files alone, and is not another harness's.
 * @throws {MendError} where an export has such files, and nothing says what they are
 */
function refuseMixed(
  shown: string,
  name: string | undefined,
  has: (path: string) => boolean,
  namesIn: (within: string) => readonly string[],
): void {
  for (const harness of memoryHarnesses.filter(({ homePerProject }) => homePerProject)) {
    if (name === undefined && has(harness.name))
      throw new MendError(
        `${shown} has a folder "${harness.name}", which may be memory of ${harness.title} from an export: name the harness that all files in it are of, as with --harness claude, or take that folder out`,
      );
    if (name === harness.name && harness.memoryInCopy('', has, namesIn(harness.name)) === undefined)
      throw new MendError(
        `${shown} is no copy of a home of ${harness.title}: its memory cannot be imported from files of an export; "mend store backup" takes it along`,
      );
  }
}

/** True when a folder has no file that an import would take, or name. */
export async function isEmpty(place: ImportPlace, repository: Repository): Promise<boolean> {
  const carrier = carriers[place.harness.name];
  if (carrier) return (await carrier.count(place.folder, repository)) === 0;
  const { files, skipped } = listFolder(place.folder, localIn(place), Number.POSITIVE_INFINITY);
  return files.length + skipped.length === 0;
}

/** True when a folder is, or lies in, a mount of the very memory that it would be imported into. */
export function isLive(store: Store, project: number, { harness, folder }: ImportPlace): boolean {
  const tree = store.trees.find(project, harness.name);
  const { dev } = statSync(folder);
  return [...mountTable()].some(
    ([path, type]) =>
      type === MOUNT_TYPE &&
      store.trees.mountsAt(store.machine, path).some((row) => row.tree === tree?.id) &&
      lstatSync(path).dev === dev,
  );
}

/** Whether a copy has something at a relative path; a link in it may lead anywhere, and is not followed. */
function isWithin(copy: string, path: string): boolean {
  let at = copy;
  return path.split('/').every((name) => {
    at = join(at, name);
    return lstatSync(at, { throwIfNoEntry: false })?.isDirectory();
  });
}

function lstatOf(folder: string) {
  try {
    return lstatSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const todo =
      error.code === 'ENOTCONN' ? 'a mount above it has lost its server, take that off' : 'check who owns it';
    throw new MendError(`the memory folder ${quoted(folder)} cannot be reached (${error.code}): ${todo}`);
  }
}
