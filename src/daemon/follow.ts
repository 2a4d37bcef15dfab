import type { Store } from '../store/store.js';
import type { Tree } from '../tree/tree.js';

/**
 * What a store does with changes that others made: the trees that are held in memory take them over.
 * @returns for `Store.follow`: given the changes, or undefined where it is not known what has changed; true when a tree
 *   had to look at something
 */
export function followWith(store: Store, trees: ReadonlyMap<number, Tree>): Store['follow'] {
  return (changes) => {
    let followed = false;
    for (const [id, tree] of trees) {
      const ids = changes
        ? changes.filter((change) => change.tree === id).map((change) => change.node)
        : [...tree.nodes.keys(), ...store.loadNodes(id, 0).map((row) => row.id)];
      if (ids.length === 0) continue;
      tree.follow(ids);
      followed = true;
    }
    return followed;
  };
}
