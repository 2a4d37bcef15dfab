import { lstatSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { mountTable, realPath } from '../daemon/mount-point.js';
import { isSystemError, MendError } from '../errors.js';
import type { HarnessPlace, MemoryHarness } from '../harness/adapter.js';
import { carriers } from '../import/carrier.js';
import { earlierHomeNames, homeName, homesFolder } from '../store/location.js';
import type { Project } from '../store/projects.js';
import type { Store } from '../store/store.js';
import { harnessEnvironment, ownStoreFolder } from './context.js';
import { quoted } from './output.js';

/** A project, in the store that has it. */
export interface PlacedProject {
  readonly store: Store;
  readonly project: Project;
}

/** A project of a store; undefined when it has none of that id. */
export function placed(store: Store, id: number | undefined): PlacedProject | undefined {
  const project = id === undefined ? undefined : store.projects.byId(id);
  return project && { store, project };
}

/**
 * Where a harness started here would run for a checkout.
 * @param owner the checkout's project; undefined when it has none yet
 */
export function harnessPlace(harness: MemoryHarness, root: string, owner: PlacedProject | undefined): HarnessPlace {
  const home = owner === undefined || !harness.homePerProject ? undefined : homeOf(harness, owner);
  return { root, env: harnessEnvironment(), home };
}

/** The home of a project. One that an earlier release made for it, by its number alone, is gone on with. */
function homeOf(harness: MemoryHarness, { store, project }: PlacedProject): string {
  const uid = process.getuid?.() ?? 0;
  const owner = { store: ownStoreFolder(), project };
  const folder = homesFolder(process.env, uid, harness.name);
  const home = join(folder, homeName(process.env, uid, owner));
  const tree = store.trees.find(project.id, harness.name);
  if (tree === undefined || isThere(home)) return home;
  const mounted = store.trees.mountsOf(tree.id, store.machine).map((path) => dirname(path));
  const recorded = mounted.filter((path) => path === realPath(join(folder, basename(path))));
  const named = earlierHomeNames(process.env, uid, owner)
    .map((name) => join(folder, name))
    .filter((path) => carriers[harness.name]?.knows(store, tree, path));
  const earlier = [...recorded.map((path) => join(folder, basename(path))), ...named].find(isThere);
  return earlier ?? home;
}

function isThere(folder: string): boolean {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Real path of the memory folder of a checkout, with the environment of this command; undefined when there is none yet. */
export function memoryFolderOf(
  harness: MemoryHarness,
  root: string,
  owner: PlacedProject | undefined,
): string | undefined {
  const folder = folderAt(harness, harnessPlace(harness, root, owner));
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
export function possibleFolders(harness: MemoryHarness, root: string, owner: PlacedProject | undefined): string[] {
  const place = harnessPlace(harness, root, owner);
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
