import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import { ownerIsAlive, type RuntimeFiles } from './runtime-files.js';

/** The row that the mount's local files belong to: that of the last mount here, unless another daemon serves that. */
export function mountRow(
  store: Store,
  files: RuntimeFiles,
  tree: TreeRow,
  { path, checkout }: { readonly path: string; readonly checkout: string },
): number {
  const { trees, machine } = store;
  const { owner } = files;
  return store.write(() => {
    const rows = trees.mountsAt(machine, path);
    const mine = rows.find((row) => row.owner === owner);
    const known = mine ?? rows.find((row) => !ownerIsAlive(files, row.owner));
    const id = known?.id ?? store.newId();
    trees.putMount({ id, tree: tree.id, path, checkout, owner }, machine);
    return id;
  });
}
