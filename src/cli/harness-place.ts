import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { mountTable, realPath } from '../daemon/mount-point.js';
import { isSystemError, MendError } from '../errors.js';
import type { HarnessPlace, MemoryHarness } from '../harness/adapter.js';
import { projectHome } from '../store/location.js';
import { harnessEnvironment, ownStoreFolder } from './context.js';
import { quoted } from './output.js';

/**
 * Where a harness started here would run for a checkout.
 * @param project row id of the checkout's project; undefined when it has none yet
 */
export function harnessPlace(harness: MemoryHarness, root: string, project: number | undefined): HarnessPlace {
  const uid = process.getuid?.() ?? 0;
  const home =
    project === undefined ? undefined : projectHome(process.env, uid, ownStoreFolder(), harness.name, project);
  return { root, env: harnessEnvironment(), home };
}

/** Real path of the memory folder of a checkout, with the environment of this command; undefined when there is none yet. */
export function memoryFolderOf(harness: MemoryHarness, root: string, project: number | undefined): string | undefined {
  const folder = folderAt(harness, harnessPlace(harness, root, project));
  return folder === undefined ? undefined : realPath(folder);
}

/**
 * The memory folder for a place, as the harness itself has named it where it is there already.
 * @throws {MendError} when it is there under several names.
 */
export function folderAt(harness: MemoryHarness, place: HarnessPlace): string | undefined {
  const folder = harness.memoryFolder(place);
  const found = namedFolders(harness, place);
  const [first] = found;
  if (folder === undefined || first === undefined) return folder;
  const other = found.find(({ name }) => name !== first.name);
  if (other === undefined) return join(dirname(folder), first.name);
  throw new MendError(
    `${quoted(first.path)} and ${quoted(other.path)} are both for ${quoted(place.root)}: put what they hold together in one of them, and remove the other`,
  );
}

/** Every real path that the memory folder of a checkout may have now, those that are there first. */
export function possibleFolders(harness: MemoryHarness, root: string, project: number | undefined): string[] {
  const place = harnessPlace(harness, root, project);
  const folder = harness.memoryFolder(place);
  if (folder === undefined) return [];
  const names = namedFolders(harness, place).map(({ name }) => join(dirname(folder), name));
  // A home of the project's own has nothing else: its settings may ask for another folder than the one that is mounted.
  const own = harness.homePerProject ? [...mountTable().keys()] : [];
  const mounted = own.filter((path) => dirname(path) === dirname(realPath(folder)));
  return [...new Set([...[folder, ...names].map(realPath), ...mounted])];
}

/** The folders that are there with a name that the memory folder of a place may have. */
function namedFolders(harness: MemoryHarness, place: HarnessPlace): { readonly name: string; readonly path: string }[] {
  const names = harness.folderNames?.(place);
  if (names === undefined) return [];
  return names.within.flatMap((parent) =>
    namesIn(parent).flatMap((name) => (names.pattern.test(name) ? [{ name, path: join(parent, name) }] : [])),
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isSystemError(error)) return [];
    throw error;
  }
}
