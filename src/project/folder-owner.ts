import { existsSync } from 'node:fs';
import { MendError } from '../errors.js';
import { FolderRecords } from '../store/folder-records.js';
import type { Project } from '../store/projects.js';
import type { Store } from '../store/store.js';
import { printable } from './printable.js';
import { shellWords } from './shell-word.js';

/** A harness's plain memory folder of a checkout. Harnesses may have one folder for several checkouts. */
export interface PlainFolder {
  readonly harness: string;
  /** Real path of the folder. */
  readonly path: string;
  /** Real path of the harness's folder for a checkout, in the environment at hand. */
  readonly folderOf: (root: string) => string | undefined;
}

/** The project that a plain folder belongs to. */
export interface FolderOwner {
  readonly project: Project;
  /** The checkout that it is the folder of; undefined when that is not known. */
  readonly checkout: string | undefined;
  /** True while that checkout is there and has this folder. */
  readonly live: boolean;
}

/**
 * The other project whose memory a plain folder holds: the one it was mounted for last, unless that checkout was given to
 * another project since, else one that it was exchanged with, else one that has a checkout with the same folder.
 * Undefined when the folder is free, or is that of the project asked for.
 * @param project row id of the project that is to use the folder; undefined for one that is yet to be made
 */
export function folderOwner(store: Store, folder: PlainFolder, project: number | undefined): FolderOwner | undefined {
  const { machine, projects } = store;
  const records = new FolderRecords(store.db);
  const users = usersOf(store, folder);
  const exchanged = records.exchanged(machine, folder.path).map((row) => row.project);
  // A row outlives what it tells of: the checkout may be another project's now, or gone, and its files put aside.
  const last = records
    .mounted(machine, folder.path)
    .filter(({ project, checkout }) => projects.find({ kind: 'path', machine, value: checkout })?.id === project.id)
    .map((row) => ownerAt(row.project, row.checkout, folder))
    .find(({ project, live }) => live || exchanged.some(({ id }) => id === project.id));
  if (last) return last.project.id === project ? undefined : last;
  if (exchanged.some(({ id }) => id === project)) return undefined;
  const [owner] = exchanged;
  if (owner) return ownerAt(owner, users.find((user) => user.project.id === owner.id)?.path, folder);
  const other = users.find((user) => user.project.id !== project && !hasAnotherFolder(store, folder, user));
  return other && ownerAt(other.project, other.path, folder);
}

function ownerAt(project: Project, checkout: string | undefined, folder: PlainFolder): FolderOwner {
  const live = checkout !== undefined && existsSync(checkout) && folder.folderOf(checkout) === folder.path;
  return { project, checkout, live };
}

interface FolderUser {
  readonly project: Project;
  readonly path: string;
}

/** The checkouts on this machine whose folder it is. */
function usersOf({ projects, machine }: Store, folder: PlainFolder): FolderUser[] {
  return projects
    .list(machine)
    .flatMap(({ paths, id, name, created }) => paths.map((path) => ({ project: { id, name, created }, path })))
    .filter(({ path }) => folder.folderOf(path) === folder.path && existsSync(path));
}

/** True when a checkout's memory lies in another folder, by another setting: it does not come here. */
function hasAnotherFolder({ db, machine, trees }: Store, folder: PlainFolder, { project, path }: FolderUser): boolean {
  const records = new FolderRecords(db);
  if (records.mountedFor(machine, path, folder.harness).length > 0) return true;
  return trees.find(project.id, folder.harness) !== undefined && records.foldersOf(machine, project.id).length > 0;
}

/**
 * Refuses to use a plain folder that is another project's.
 * @param root the checkout that is to use it
 * @param own its project; undefined when it has none yet
 * @param setting the variable that gives the harness another folder
 * @throws {MendError} with the commands that settle it
 */
export function refuseForeignFolder(
  store: Store,
  folder: PlainFolder,
  root: string,
  own: Project | undefined,
  setting: string | undefined,
): void {
  const owner = folderOwner(store, folder, own?.id);
  if (owner) throw foreignFolder(owner, folder.path, root, own, setting);
}

/** The refusal of `refuseForeignFolder`, as an error. */
export function foreignFolder(
  { project, checkout, live }: FolderOwner,
  folder: string,
  root: string,
  own: Project | undefined,
  setting: string | undefined,
): MendError {
  const join = `"mend project link ${shellWords(project.name, root)}"`;
  const where = `the memory folder ${printable(folder)} of ${printable(root)}`;
  if (live) {
    const other = setting === undefined ? '' : `, or set ${setting} to another folder for one of them`;
    return new MendError(
      `${where} is that of ${printable(checkout ?? '')}, too, which belongs to project "${project.name}", and memory ` +
        `of two projects is never mixed: run ${join} if both are one project${other}`,
    );
  }
  const away = own ? `link ${shellWords(own.name, root)}` : `new ${shellWords(root)}`;
  return new MendError(
    `${where} holds memory of project "${project.name}": run "mend project ${away}" to put that aside, or ${join} ` +
      `if this checkout is that project`,
  );
}
