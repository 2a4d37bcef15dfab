import { MendError } from '../errors.js';
import type { MemoryHarness } from '../harness/adapter.js';
import { DEFAULT_LIMITS, type Limits } from '../ports/limits.js';
import { machineName } from '../store/machines.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import type { Skipped } from './folder-reader.js';
import { importFolder } from './import-folder.js';
import type { ImportedFile, Source } from './import-options.js';
import { originFault } from './note-origin.js';

/**
 * Imports the plain folder of this machine that a tree is about to be mounted over (spec §3.3). What lies there is this
 * person's memory already, so nothing is refused for what it holds: to leave a file out would hide it.
 * @param reading another path to the folder, to read it by: that of a handle on it
 */
export function takeIn(
  store: Store,
  tree: TreeRow,
  folder: string,
  harness: MemoryHarness,
  limits: Limits = DEFAULT_LIMITS,
  reading: string = folder,
): Promise<ImportedFile[]> {
  return importFolder(store, tree, reading, {
    source: ownFolder(store, folder),
    isLocal: (path) => harness.isLocal(path),
    // To leave a note out would hide it, and to take it in would mix projects.
    refuse: (path, bytes) => {
      const fault = originFault(store, { harness, project: tree.project, machine: store.machine }, path, bytes);
      if (fault !== undefined) throw new MendError(`cannot mount on ${folder}: ${path} in it ${fault}`);
      return undefined;
    },
    maintained: harness.maintainedKeys,
    limits,
  });
}

/** A folder of this machine as the source of an import. */
export function ownFolder(store: Store, folder: string): Source {
  return { machine: store.machine, host: machineName(store.db, store.machine), folder };
}

/** What became of the files of a folder that was read once more: of one that stayed as it was, what stands. */
export function withLate(first: readonly ImportedFile[], late: readonly ImportedFile[]): ImportedFile[] {
  const news = late.filter(({ outcome }) => !['same', 'kept', 'not added'].includes(outcome));
  return [...new Map([...first, ...news].map((file) => [file.path, file])).values()];
}

/** What was taken in: how many files by outcome, which of them lack lines that lay there, and what was left out. */
export function summary(imported: readonly ImportedFile[]): {
  readonly taken: Record<string, number>;
  readonly partly: readonly string[];
  readonly skipped: Skipped[];
} {
  const taken: Record<string, number> = {};
  const skipped: Skipped[] = [];
  for (const file of imported) {
    if (file.outcome === 'skipped') skipped.push({ path: file.path, reason: file.reason ?? 'was left out' });
    else taken[file.outcome] = (taken[file.outcome] ?? 0) + 1;
  }
  return { taken, partly: imported.filter(({ linesLost }) => linesLost > 0).map((file) => file.path), skipped };
}
