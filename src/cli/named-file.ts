import { MendError, usageError } from '../errors.js';
import { shellWord } from '../project/shell-word.js';
import { type MemoryFile, MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import type { VersionRow } from '../store/version-table.js';
import { type ChosenProject, displayName, type FileName, treeOf } from './context.js';
import { memoryCommand } from './memory-command.js';
import { quoted } from './output.js';
import { nameTyped } from './typed-name.js';

/** A file that a command names, with what there is of it. */
export interface NamedFile {
  readonly tree: TreeRow;
  readonly memory: MemoryFiles;
  readonly path: string;
  /** Its name for people. */
  readonly shown: string;
  /** Undefined when it was removed. */
  readonly head: MemoryFile | undefined;
  /** Newest first. */
  readonly history: readonly VersionRow[];
  /** The project as it was named for the command. */
  readonly given: string | undefined;
}

/**
 * Finds a file, or what is kept of one that was removed.
 * @throws {MendError} when there is nothing of that name.
 */
export function namedFile(store: Store, project: ChosenProject, name: FileName): NamedFile {
  const tree = treeOf(store, project, name.harness);
  if (tree) {
    const memory = new MemoryFiles(store, tree);
    const head = memory.find(name.path);
    const history = store.versions.of(tree.id, name.path);
    const shown = quoted(displayName(name.harness, name.path));
    if (head || history.length > 0)
      return { tree, memory, path: name.path, shown, head, history, given: project.given };
  }
  throw noSuchFile(project, displayName(name.harness, name.path));
}

/** The error for a file that there is nothing of, or no `what`. */
export function noSuchFile({ name, given }: ChosenProject, file: string, what = 'memory file'): MendError {
  // In double quotes a shell takes the quotes away, and leaves the rest as it is listed.
  const listed = `"${file}"`;
  const perhaps =
    nameTyped(listed) === undefined ? '' : `, and ${shellWord(listed)} is how a name is typed that is listed so`;
  return new MendError(
    `project "${name}" has no ${what} ${quoted(file)}: ${memoryCommand(given)} lists the files${perhaps}`,
  );
}

/**
 * The same for a file that must be there now.
 * @throws {MendError} when it was removed, too.
 */
export function existingFile(
  store: Store,
  project: ChosenProject,
  name: FileName,
): NamedFile & { readonly head: MemoryFile } {
  const file = namedFile(store, project, name);
  const { head } = file;
  if (head) return { ...file, head };
  throw new MendError(
    `${file.shown} was removed from project "${project.name}": ${memoryCommand(project.given, 'log')} lists the versions that are kept of it`,
  );
}

/** @throws {MendError} (usage) for a text that is no number of a version. */
export function parseVersion(text: string, given: string | undefined): number {
  const number = Number(text);
  if (/^[1-9]\d*$/.test(text) && Number.isSafeInteger(number)) return number;
  throw usageError(`${quoted(text)} is not the number of a version: ${memoryCommand(given, 'log')} lists them`);
}

/** @throws {MendError} when the version is not, or not any more, there. */
export function versionOf({ shown, history, given }: NamedFile, number: number): VersionRow {
  const version = history.find((row) => row.number === number);
  if (version) return version;
  throw new MendError(`${shown} has no version ${number}: ${memoryCommand(given, 'log')} lists them`);
}

/** The version that a file holds now, or held when it was removed; undefined when it is not kept. */
export function headVersion({ head, history }: Pick<NamedFile, 'head' | 'history'>): VersionRow | undefined {
  return history.find((row) => wasHead(row) && (head === undefined || row.content === head.content));
}

/** False for what was only kept aside. */
export function wasHead({ kind }: VersionRow): boolean {
  return kind !== 'conflict' && kind !== 'interrupted';
}
