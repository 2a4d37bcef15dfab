import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';

/**
 * Hashes of what a plain file may hold without being news: what was exchanged with the folder last, and what could not be
 * merged, if the store still has it as a version or a person had it purged. A file that holds anything else is not
 * overwritten, and not removed.
 */
export function knownOf(store: Store, tree: TreeRow, folder: string, path: string): Buffer[] {
  const known: Buffer[] = [];
  const base = store.bases.get(store.machine, folder, tree.id, path);
  const exchanged = base && store.contents.digest(base.sent)?.sha256;
  if (exchanged) known.push(exchanged);
  const dispute = store.disputes.get(store.machine, folder, tree.id, path);
  if (!dispute) return known;
  const isKept = (): boolean =>
    store.versions.of(tree.id, dispute.file ?? path).some(({ sha256 }) => sha256.equals(dispute.sent));
  if (dispute.stored.length === 0 || isKept()) known.push(dispute.sent);
  return known;
}
