import { MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import { Counterparts } from './counterparts.js';
import { FileImport } from './file-import.js';
import { listFolder, readListed } from './folder-reader.js';
import type { ImportedFile, ImportOptions } from './import-options.js';
import { BUSY, left, unlessInTheWay } from './in-the-way.js';

/**
 * Imports a memory folder into a tree (spec §7): what changed there since the last import from it is added, replaces
 * what the store has, or is merged with it. Each file is imported whole or not at all, in one transaction, so an
 * import can be broken off at any moment and run again.
 */
export async function importFolder(
  store: Store,
  tree: TreeRow,
  folder: string,
  options: ImportOptions,
): Promise<ImportedFile[]> {
  const { limits, progress } = options;
  const { files, skipped } = listFolder(folder, options.isLocal, limits.fileBytes);
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
    const found = readListed(folder, path, limits.fileBytes);
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
