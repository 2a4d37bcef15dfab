import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { connectServing } from '../daemon/control-client.js';
import { mountAbove } from '../daemon/mount-point.js';
import { knownOwners, runtimeFiles } from '../daemon/runtime-files.js';
import { giveRoomOf, inspectionOf, refuseReplaced, settleStops } from '../daemon/unclean-stop.js';
import { isSystemError, MendError, usageError } from '../errors.js';
import type { HarnessEnvironment } from '../harness/adapter.js';
import { memoryHarnesses } from '../harness/registry.js';
import { pathFault } from '../ports/limits.js';
import { readMachine } from '../project/machine.js';
import { printable } from '../project/printable.js';
import { discoverRepository, type Repository } from '../project/repository.js';
import { findProject, projectByName, resolveProject } from '../project/resolve.js';
import { shellWord } from '../project/shell-word.js';
import { STORE_FILE, storeExists, storeFolder, storeFolderExists } from '../store/location.js';
import { explain } from '../store/open-database.js';
import { displaced, isDisplaced } from '../store/place.js';
import type { Project } from '../store/projects.js';
import { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import { memoryCommand } from './memory-command.js';
import { complain, quoted, sized } from './output.js';
import { nameTyped } from './typed-name.js';

/** Folder of this person's store. */
export function ownStoreFolder(): string {
  return storeFolder(process.env, process.getuid?.() ?? 0);
}

/**
 * True when this person has a store already.
 * @throws {MendError} when another file, or none, is in the place of one that is or was in use
 */
export function hasStore(): boolean {
  const folder = ownStoreFolder();
  const file = join(folder, STORE_FILE);
  if (!storeFolderExists(folder)) return false;
  if (isDisplaced(file)) throw displaced(file);
  refuseReplaced(folder);
  return storeExists(folder);
}

/**
 * Opens the store, runs `work` on it, and closes it. After an unclean stop it is looked through first.
 * @param atStart it is opened to be served
 */
export async function withStore<T>(
  create: boolean,
  work: (store: Store) => T | Promise<T>,
  atStart = false,
): Promise<T> {
  const folder = ownStoreFolder();
  const file = join(folder, STORE_FILE);
  if (!hasStore() && !create) throw new MendError('there is no memory yet: run "mend mount" in a checkout first');
  try {
    const files = runtimeFiles(folder);
    const { check, stops, large } = inspectionOf(folder, files, atStart);
    if (large !== undefined)
      complain(`looking for damage in the store after an unclean stop (${sized(large)}), which takes a moment`);
    giveRoomOf(files, stops);
    const store = new Store(folder, { create, check, owner: 'command', machine: () => readMachine(folder) });
    try {
      settleStops(files, stops);
      return await work(store);
    } finally {
      store.close();
    }
  } catch (error) {
    throw explain(error, file);
  }
}

/** The environment in which harnesses of this person are started. */
export function harnessEnvironment(): HarnessEnvironment {
  return { ...process.env, HOME: process.env['HOME'] || homedir(), PWD: folderIfAny() };
}

/** The repository of a folder, or of the current one. */
export async function repositoryOf(folder?: string): Promise<Repository> {
  const path = folder === undefined ? currentFolder() : resolve(currentFolder(), folder);
  if (mountAbove(path) !== undefined) {
    throw new MendError(
      `${printable(path)} lies in a mounted memory folder: change to the checkout, or name a project with --project`,
    );
  }
  return discoverRepository(path);
}

/** @throws {MendError} when the folder was removed meanwhile. */
export function currentFolder(): string {
  const folder = folderIfAny();
  if (folder === undefined) throw new MendError('the folder you are in is gone: change to a checkout');
  return folder;
}

function folderIfAny(): string | undefined {
  try {
    return process.cwd();
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}

/** The project of a repository, made when it is new. */
export function projectOf(store: Store, repository: Repository): Project {
  return resolveProject(store.projects, repository, { machine: store.machine, now: store.now });
}

/** A project that a command is about. */
export interface ChosenProject extends Project {
  /** Its name as it was given, which commands that are advised need; undefined for the project of a folder. */
  readonly given: string | undefined;
}

/**
 * The project named by `--project`, else that of a folder (default: the current one).
 * @throws {MendError} when it has none yet.
 */
export async function knownProject(
  store: Store,
  name: string | undefined,
  folder?: string,
  unknown?: string,
): Promise<ChosenProject> {
  if (name !== undefined) return { ...projectByName(store.projects, name), given: name };
  return projectHere(store, await repositoryOf(folder), unknown);
}

/**
 * The project of a repository.
 * @throws {MendError} when it has none yet.
 */
export function projectHere(store: Store, repository: Repository, unknown?: string): ChosenProject {
  const project = findProject(store.projects, repository, store.machine);
  if (project) return { ...project, given: undefined };
  throw new MendError(
    unknown ??
      `there is no memory of ${printable(repository.root)} yet: run "mend mount" there, or name a project with --project`,
  );
}

/** A file named on the command line: `file`, or `codex:file` for a harness other than Claude Code. */
export interface FileName {
  readonly harness: string;
  readonly path: string;
}

/**
 * @param given the project that was named
 * @throws {MendError} (usage) for a name that cannot be in a tree, absolute or with `..`, and for control characters.
 */
export function parseFileName(text: string, given?: string): FileName {
  const typed = nameTyped(text);
  const name = typed ?? text;
  const { harness = 'claude', path = name } = parsePrefix(name) ?? {};
  const list = memoryCommand(given);
  if (pathFault(path))
    throw usageError(`"${printable(text)}" cannot be a memory file: give its name as ${list} lists it`);
  if (typed === undefined && printable(path) !== path)
    throw usageError(
      `"${printable(text)}" cannot be a memory file, written so: give its name as ${list} lists it, ${shellWord(quoted(text))}`,
    );
  return { harness, path };
}

function parsePrefix(text: string): FileName | undefined {
  const [, harness, path] = /^([a-z][a-z-]*):(.+)$/s.exec(text) ?? [];
  if (harness === undefined || path === undefined) return undefined;
  return memoryHarnesses.some(({ name }) => name === harness) ? { harness, path } : undefined;
}

/** A file's name as `parseFileName` takes it. */
export function displayName(harness: string, path: string): string {
  const plain = harness === 'claude' && parsePrefix(path) === undefined;
  return plain ? path : `${harness}:${path}`;
}

/** The tree of a harness in a project. */
export function treeOf(store: Store, project: Project, harness: string): TreeRow | undefined {
  return store.trees.find(project.id, harness);
}

/** Row id of the session that a command's changes are made by. */
export function commandSession(store: Store, name: string): number {
  return store.sessionRow({ key: `command/${process.pid}/${store.now}`, name });
}

/** The daemons that serve this person's store now, by the name that owns their drafts. */
export async function servingDaemons(): Promise<string[]> {
  const files = runtimeFiles(ownStoreFolder());
  const serving: string[] = [];
  for (const owner of knownOwners(files)) {
    const client = await connectServing(files, owner);
    if (client) serving.push(owner);
    client?.close();
  }
  return serving;
}
