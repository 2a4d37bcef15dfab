import { MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import { Counterparts } from './counterparts.js';
import { FileImport } from './file-import.js';
import { type FolderListing, type FoundFile, listFolder, readListed, type Skipped } from './folder-reader.js';
import type { ImportedFile, ImportOptions } from './import-options.js';
import { BUSY, left, unlessInTheWay } from './in-the-way.js';

/** Files that are listed first, and then read one after the other, in the order of the list. */
export interface FileSource extends FolderListing {
  /** Reads a file of the list, or tells why that cannot be done. Not every file is asked for. */
  read(path: string): FoundFile | Skipped | Promise<FoundFile | Skipped>;
}

/**
 * Imports a memory folder into a tree (spec §7): what changed there since the last import from it is added, replaces
 * what the store has, or is merged with it. Each file is imported whole or not at all, in one transaction, so an
 * import can be broken off at any moment and run again.
 */
export function importFolder(
  store: Store,
  tree: TreeRow,
  folder: string,
  options: ImportOptions,
): Promise<ImportedFile[]> {
  const { fileBytes } = options.limits;
  const listing = listFolder(folder, options.isLocal, fileBytes);
  const read = (path: string) => readListed(folder, path, fileBytes);
  return importFiles(store, tree, { ...listing, read }, options);
}

/** Imports files that need not lie in a folder that this process may read, as `importFolder` does. */
export async function importFiles(
  store: Store,
  tree: TreeRow,
  { files, skipped, read }: FileSource,
  options: ImportOptions,
): Promise<ImportedFile[]> {
  const { progress } = options;
  const memory = new MemoryFiles(store, tree);
  const counterparts = new Counterparts(
    memory.list().map(({ path }) => path),
    files,
  );
  const imported: ImportedFile[] = [];
  const total = files.length + skipped.length;
  options.begin?.(total);
  const note = (file: ImportedFile): void => {
    imported.push(file);
    progress?.(file, imported.length, total);
  };
  let busy = false;
  for (const path of files) {
    // Whoever holds the store so long is not waited for again.
    if (busy) {
      note(left(path, BUSY));
      continue;
    }
    const found = await read(path);
    if ('reason' in found) note(left(path, found.reason));
    else {
      const file = { path, target: counterparts.of(path), ...found };
      const imported = await unlessInTheWay(path, () => new FileImport(store, tree, memory, file, options).run());
      busy = imported.reason === BUSY;
      note(imported);
    }
  }
  for (const { path, reason } of skipped) note(left(path, reason));
  return imported.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
