import { MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';

/** One file of an export. */
export interface ExportFile {
  /** Relative to the target, `/` between names. */
  readonly path: string;
  readonly bytes: Buffer;
  /** µs since the epoch. */
  readonly mtime: number;
}

/** What is exported, or the harness whose folder cannot be there, as memory at the top has an entry of that name. */
export type ExportContent = { readonly files: readonly ExportFile[] } | { readonly inTheWay: string };

/** Modes in an export, whatever the harness asked for. */
export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;

/**
 * Reads the heads of some trees, all as they are at one moment. The files of the harness `top` lie at the top, as in
 * its memory folder, those of any other in a folder of the harness's name.
 */
export function exportFiles(store: Store, trees: readonly TreeRow[], top: string): ExportContent {
  return store.db.transaction((): ExportContent => {
    const files: ExportFile[] = [];
    const harnesses = new Set<string>();
    for (const tree of trees) {
      for (const { path, content, row } of new MemoryFiles(store, tree).list()) {
        if (tree.harness !== top) harnesses.add(tree.harness);
        const place = tree.harness === top ? path : `${tree.harness}/${path}`;
        files.push({ path: place, bytes: store.content(content), mtime: row.mtime });
      }
    }
    const entries = new Set(trees.filter((tree) => tree.harness === top).flatMap((tree) => topNames(store, tree)));
    const inTheWay = [...harnesses].find((harness) => entries.has(harness));
    return inTheWay === undefined ? { files } : { inTheWay };
  })();
}

function topNames(store: Store, tree: TreeRow): string[] {
  return new MemoryFiles(store, tree).list().map(({ path }) => path.split('/')[0] ?? path);
}

/** The folders that files lie in, those around others first, with the time of the newest file in each. */
export function foldersOf(files: readonly ExportFile[]): Map<string, number> {
  const folders = new Map<string, number>();
  for (const { path, mtime } of files) {
    const names = path.split('/').slice(0, -1);
    names.forEach((_, i) => {
      const folder = names.slice(0, i + 1).join('/');
      folders.set(folder, Math.max(mtime, folders.get(folder) ?? Number.NEGATIVE_INFINITY));
    });
  }
  return folders;
}
