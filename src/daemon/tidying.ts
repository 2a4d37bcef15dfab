import type { Knowledge } from '../session/knowledge.js';
import type { Store } from '../store/store.js';
import type { Tree } from '../tree/tree.js';

/** Stores what could wait: times of folders, and what sessions came to know. */
export function tidy(store: Store, knowledge: Knowledge, all: Iterable<Tree>): void {
  const unsaved = knowledge.takeUnsaved();
  const trees = [...all].filter((tree) => tree.isUntidy);
  if (unsaved.length === 0 && trees.length === 0) return;
  store.write(() => {
    for (const tree of trees) tree.tidy();
    for (const { session, tree, path, content, at } of unsaved)
      store.saveServed(store.sessionRow(session), tree, path, content, at);
  }, true);
}
