import { carried } from '../../store/carried.js';
import type { Store } from '../../store/store.js';
import type { TreeRow } from '../../store/tree-table.js';
import { isOlder, threadOfFile } from './summary-file.js';

/**
 * Forgets what Codex knows of a summary whose file was removed: it would write the file again. A home forgets it when memory
 * is brought to it the next time.
 * @param bytes what the file held; undefined when that is not known
 */
export function removeSummary(store: Store, tree: TreeRow, path: string, bytes: Buffer | undefined): void {
  if (bytes === undefined) return;
  const thread = threadOfFile(path, bytes);
  if (thread === undefined) return;
  const { summaries } = carried(store.db);
  store.write(() => {
    const row = summaries.of(tree.id).find((one) => one.thread === thread);
    // The file of an earlier summary of the same conversation can have another name.
    if (row && !isOlder(bytes, row.updated)) summaries.delete(tree.id, thread);
  }, true);
}
