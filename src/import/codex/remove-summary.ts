import { carried } from '../../store/carried.js';
import type { Store } from '../../store/store.js';
import type { TreeRow } from '../../store/tree-table.js';
import { isOlder, pathOf, SUMMARY_FOLDER, threadOfFile } from './summary-file.js';
import { columnsOf, textOf } from './summary-row.js';

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
    // The file of an earlier summary of the same conversation can have another name. One that was restored names an earlier time.
    if (row && (path === pathOf(row) || !isOlder(bytes, row.updated))) summaries.delete(tree.id, thread);
  }, true);
}

/** Characters from which on a text is told from others by being the same. */
const TELLING = 32;

/**
 * Forgets what Codex knows of a summary that was purged, so that none of its text stays: neither that of a newer state of the
 * conversation, nor where the file does not say any more which one it is of.
 * @param contents what was purged
 * @param isWhole whether the file was purged, and not only a version of it
 * @returns the conversations of which Codex knows no summary any more
 */
export function purgeSummary(
  store: Store,
  tree: TreeRow,
  path: string,
  contents: readonly Buffer[],
  isWhole: boolean,
): readonly string[] {
  if (!path.startsWith(`${SUMMARY_FOLDER}/`)) return [];
  const threads = new Set(contents.map((bytes) => threadOfFile(path, bytes)));
  const { summaries } = carried(store.db);
  return store.write(() => {
    const gone = summaries.of(tree.id).filter((row) => {
      const isOwn = threads.has(row.thread);
      const text = textOf(columnsOf(row), 'rollout_summary').trim();
      const isTold = text.length >= (isOwn ? 1 : TELLING) && contents.some((bytes) => bytes.includes(text));
      return (isOwn && isWhole) || isTold;
    });
    for (const { thread } of gone) summaries.delete(tree.id, thread);
    return gone.map(({ thread }) => thread);
  }, true);
}
