import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MOUNT_TYPE, mountAbove, mountTable, realPath } from '../daemon/mount-point.js';
import { isSystemError, MendError } from '../errors.js';
import type { MemoryHarness } from '../harness/adapter.js';
import type { Store } from '../store/store.js';
import { currentFolder, harnessEnvironment } from './context.js';
import { quoted } from './output.js';

/** A memory folder that can be imported. */
export interface ImportPlace {
  readonly harness: MemoryHarness;
  readonly folder: string;
  /** The repository that the folder is for. */
  readonly root: string;
}

/** A memory folder that an import has nothing to do with, and why: a sentence without its end. */
export interface NothingToImport {
  readonly harness: MemoryHarness;
  readonly reason: string;
}

/**
 * The folder where a harness keeps the memory of a repository on this machine.
 * @throws {MendError} when it is no folder of its own.
 */
export function ownPlace(harness: MemoryHarness, root: string): ImportPlace | NothingToImport {
  const folder = realPath(harness.memoryFolder(root, harnessEnvironment()));
  const shown = quoted(folder);
  if (mountTable().get(folder) === MOUNT_TYPE)
    return { harness, reason: `${shown} is mounted: its memory is live already` };
  const stat = lstatOf(folder);
  if (!stat)
    return { harness, reason: `${harness.title} keeps no memory for this repository on this machine (${shown})` };
  if (stat.isSymbolicLink())
    throw new MendError(`${shown} is a symbolic link: put a folder in its place, or use --from`);
  if (!stat.isDirectory()) throw new MendError(`${shown} is not a folder: move it away`);
  return { harness, folder, root };
}

/**
 * The memory in a copy that was brought from elsewhere.
 * @throws {MendError} when there is none, or more than memory.
 */
export function copiedPlace(harness: MemoryHarness, root: string, copy: string): ImportPlace {
  const folder = resolve(currentFolder(), copy);
  const shown = quoted(copy);
  let names: string[];
  try {
    if (!statSync(folder).isDirectory()) throw new MendError(`${shown} is not a folder: name a folder for --from`);
    names = readdirSync(folder);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new MendError(`the folder ${shown} cannot be read (${error.code}): check the path given to --from`);
  }
  const within = harness.memoryInCopy(root, (path) => existsSync(join(folder, path)), names);
  if (within !== undefined) return { harness, folder: join(folder, within), root };
  throw new MendError(
    `${shown} holds other files of ${harness.title} and no memory of this repository: name the memory folder in it for --from`,
  );
}

/** True when a folder lies in a mount of the very memory that it would be imported into. */
export function isLive(store: Store, project: number, { harness, folder }: ImportPlace): boolean {
  const mount = mountAbove(realpathSync(folder));
  const tree = store.trees.find(project, harness.name);
  return mount !== undefined && store.trees.mountsAt(store.machine, mount).some((row) => row.tree === tree?.id);
}

function lstatOf(folder: string) {
  try {
    return lstatSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new MendError(`the memory folder ${quoted(folder)} cannot be reached (${error.code}): check who owns it`);
  }
}
