import { isSystemError } from '../errors.js';
import { DEFAULT_LIMITS, type Limits } from '../ports/limits.js';
import { MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import { type FoundFile, readFolder, type Skipped } from './folder-reader.js';

/** What happened to one file that lay in the folder. */
export type Outcome = 'added' | 'updated' | 'kept' | 'not added' | 'conflict' | 'same';

export interface TakenIn {
  readonly files: readonly { readonly path: string; readonly outcome: Outcome }[];
  readonly skipped: readonly Skipped[];
}

/**
 * Takes what lies in a memory folder into the store, measured against what was last exchanged with that folder: what
 * changed there since replaces the head, and where both changed the newer content becomes head and the other a
 * version. Each file is taken in whole or not at all.
 */
export function takeIn(
  store: Store,
  tree: TreeRow,
  folder: string,
  isLocal: (path: string) => boolean,
  limits: Limits = DEFAULT_LIMITS,
): TakenIn {
  const memory = new MemoryFiles(store, tree);
  const files: { path: string; outcome: Outcome }[] = [];
  const skipped: Skipped[] = [];
  const unread = readFolder(folder, isLocal, limits.fileBytes, (file) => {
    const outcome = unlessInTheWay(() => store.write(() => takeInFile(store, tree, memory, folder, file, limits)));
    if (typeof outcome === 'string') files.push({ path: file.path, outcome });
    else skipped.push({ path: file.path, reason: outcome.reason });
  });
  return { files, skipped: [...skipped, ...unread] };
}

/** Turns the errors of a path that memory has in another kind into a reason to skip the file. */
function unlessInTheWay<T>(work: () => T): T | { reason: string } {
  try {
    return work();
  } catch (error) {
    if (isSystemError(error, 'EISDIR')) return { reason: 'is a folder in memory' };
    if (isSystemError(error, 'ENOTDIR')) return { reason: 'lies in a folder that is a file in memory' };
    throw error;
  }
}

function takeInFile(
  store: Store,
  tree: TreeRow,
  memory: MemoryFiles,
  folder: string,
  file: FoundFile,
  limits: Limits,
): Outcome | { reason: string } {
  const { path, bytes, mtime } = file;
  const base = store.bases.get(store.machine, folder, tree.id, path);
  const head = memory.find(path);
  const settle = (outcome: Outcome, sent: number, stored: number): Outcome => {
    store.bases.put(store.machine, folder, tree.id, { path, sent, stored });
    return outcome;
  };
  // Nothing is stored before it is known to be news: what was purged stays away.
  const known = store.contents.idOf(bytes);
  if (head && head.content === known) return settle('same', known, known);
  if (base && base.sent === known) return head ? 'kept' : 'not added';
  const { files, bytes: used } = store.trees.usage(tree.project);
  if (!head && files >= limits.files) return { reason: `is over the limit of ${limits.files} files` };
  if (used + bytes.length - (head?.row.size ?? 0) > limits.bytes)
    return { reason: `is over the limit of ${limits.bytes} bytes` };
  const sent = store.putContent(bytes);
  if (!head) return settle('added', sent, memory.put(path, bytes, { kind: 'imported', session: 0, mtime }));
  if (base?.stored === head.content)
    return settle('updated', sent, memory.put(path, bytes, { kind: 'imported', session: 0 }));
  if (mtime > head.row.mtime) {
    store.addVersion({ tree: tree.id, path, content: head.content, kind: 'conflict', session: 0 });
    return settle('conflict', sent, memory.put(path, bytes, { kind: 'imported', session: 0 }));
  }
  store.addVersion({ tree: tree.id, path, content: sent, kind: 'conflict', session: 0 });
  return settle('conflict', sent, head.content);
}
