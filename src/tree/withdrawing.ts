import type { Draft } from './draft.js';
import type { DirectoryNode, FileNode, TreeNode } from './node.js';
import { endDraft } from './saving.js';
import type { Announcement } from './tree.js';
import type { View } from './view.js';
import { dropDraft } from './writing.js';

/**
 * Throws away what some sessions have written and not saved yet: it becomes no version. A file that one of them made and
 * never saved is gone, and so is a temporary file that it was about to put in the place of one.
 * @param isOf whether a session, by its key, is one of them
 * @returns what the kernels have to be told; nobody was told yet
 */
export function withdraw(view: View, isOf: (session: string) => boolean): Announcement {
  const attributes: TreeNode[] = [];
  const names: { parent: DirectoryNode; name: string }[] = [];
  const gone = (node: FileNode, removedBy: string): void => {
    if (!node.parent) return;
    attributes.push(node.parent, node);
    names.push({ parent: node.parent, name: node.name });
    view.detach(node, removedBy);
  };
  const { tree } = view;
  for (const node of [...tree.nodes.values(), ...view.locals, ...tree.departed.values()]) {
    if (node.kind !== 'file' || !node.drafts) continue;
    for (const draft of [...node.drafts.values()]) {
      if (!isOf(draft.session.key)) continue;
      if (draft.dirty && discard(view, draft)) {
        gone(node, draft.session.key);
        tree.quota.addFile(-1, 0);
      }
      dropDraft(draft);
    }
  }
  for (const handle of [...view.handles.values()]) {
    const { node } = handle;
    if (handle.kind !== 'local' || !handle.wrote || !isOf(handle.session.key)) continue;
    if (!node.parent || view.temporaryFor(node) === undefined) continue;
    tree.services.store.write(() => tree.services.store.moveNode({ ...node.row(), parent: null, name: null }), true);
    gone(node, handle.session.key);
  }
  return { attributes, names };
}

/** Ends a draft, its rows with it; true when the file was made for it and goes too. */
function discard(view: View, draft: Draft): boolean {
  const { node } = draft;
  const { store } = view.tree.services;
  const others = [...(node.drafts?.values() ?? [])].some((other) => other !== draft && other.dirty);
  const isNew = node.parent !== null && !node.isLocal && node.content === null && !others;
  store.write(() => {
    if (draft.stored) store.deleteDraft(draft.id, draft.writes);
    if (isNew) {
      store.moveNode({ ...node.row(), parent: null, name: null });
      store.recordChange(view.tree.id, node.id);
    }
  }, true);
  endDraft(view, draft);
  return isNew;
}
