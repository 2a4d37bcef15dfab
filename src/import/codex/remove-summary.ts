import { carried } from '../../store/carried.js';
import type { Store } from '../../store/store.js';
import type { TreeRow } from '../../store/tree-table.js';
import { threadOfFile } from './summary-file.js';

/**
 * Forgets what Codex knows of a summary whose file was removed: it would write the file again. A home forgets it when memory
 * is brought to it the next time.
 * @param bytes what the file held; undefined when that is not known
 */
export function removeSummary(store: Store, tree: TreeRow, path: string, bytes: Buffer | undefined): void {
  const thread = bytes && threadOfFile(path, bytes);
  if (thread !== undefined) store.write(() => carried(store.db).summaries.delete(tree.id, thread), true);
}
