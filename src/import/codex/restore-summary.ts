import { carried } from '../../store/carried.js';
import type { Store } from '../../store/store.js';
import type { TreeRow } from '../../store/tree-table.js';
import { slugOfFile, summaryIn, threadOfFile, updatedOf } from './summary-file.js';
import { columnsOf, summaryOf, THREAD, textOf } from './summary-row.js';

/**
 * Has Codex know a summary as its file was restored: it would write the file anew from what it knows. That is newer then than
 * what any home has, so homes take it over.
 * @param bytes what the file holds now
 */
export function restoreSummary(store: Store, tree: TreeRow, path: string, bytes: Buffer): void {
  const thread = threadOfFile(path, bytes);
  const says = summaryIn(bytes);
  if (thread === undefined || !THREAD.test(thread) || says === undefined) return;
  store.write(() => {
    const { summaries } = carried(store.db);
    const known = summaries.of(tree.id).find((one) => one.thread === thread);
    const columns = known ? columnsOf(known) : { raw_memory: '', rollout_slug: slugOfFile(path) || null };
    if (known && textOf(columns, 'rollout_summary') === says) return;
    const now = Math.floor(store.now / 1e6);
    const row = summaryOf({
      ...columns,
      ...{ thread_id: thread, rollout_summary: says },
      source_updated_at: known?.updated ?? updatedOf(bytes) ?? now,
      generated_at: Math.max(now, (known?.generated ?? 0) + 1),
    });
    if (row) summaries.put(tree.id, { ...row, meta: null });
  }, true);
}
