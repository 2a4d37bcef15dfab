import type { VersionKind } from '../ports/store.js';
import type { Session } from '../session/session.js';
import type { Draft } from './draft.js';
import { type Decision, decide, storeDecision } from './merging.js';
import { type FileNode, pathOf } from './node.js';
import { noteDraft } from './notes.js';
import type { View } from './view.js';

/** Resolves when every other kernel was told; undefined when there is none to tell. */
export type Told = Promise<unknown> | undefined;

/**
 * Makes a draft the head of its file, merged with what others saved since (spec §4.5): what it replaces is in the
 * history already. A file that somebody else removed meanwhile is back; one that the session itself removed stays
 * removed.
 * @param pid the process that saves, 0 when nobody knows
 * @throws {Unmerged} with nothing saved, when the merge takes long
 */
export function saveDraft(view: View, draft: Draft, pid: number): Told {
  const { tree } = view;
  const { store, clock } = tree.services;
  if (draft.node.isLocal) return keepAside(view, draft, 'conflict');
  const place = placeOf(view, draft);
  if (!place) return undefined;
  const { node, path, isBack } = place;
  const { session, begun, claimed, bytes: text } = draft;
  const writer = pid === 0 ? draft.writer : pid;
  const madeFrom = sourceOf(draft);
  const began = draft.base === null ? undefined : { content: draft.base, empty: draft.beganEmpty };
  const saving = { path, session, pid: writer, known: draft.known, begun, text: () => text, madeFrom, claimed, began };
  const decision = decide(view, isBack ? undefined : node, saving);
  const names = isBack ? store.requests.apart(() => putBack(view, node, path)) : [];
  const bytes = decision.kind === 'merged' ? decision.bytes : text;
  const before = node.content;
  const time = timeOf(draft, node, decision, clock());
  const { content, written } = store.write(() => {
    const id = store.putContent(bytes);
    const own = decision.kind === 'merged' ? store.putContent(text) : id;
    if (id !== before) {
      const sessionRow = store.sessionRow(session);
      const row = {
        ...node.row(),
        content: id,
        size: bytes.length,
        mtime: time,
        ctime: clock(),
        shown: Math.max(node.shown, time),
      };
      storeDecision(view, 'saveHead', decision, { row, path, before, session: sessionRow, written: own });
    } else if (draft.timeSet) {
      store.updateNode({ ...node.row(), mtime: draft.mtime });
      store.recordChange(tree.id, node.id);
    }
    if (draft.stored) store.deleteDraft(draft.id, draft.writes);
    const head = id === before ? undefined : decision.kind === 'merged' ? 'merged' : 'own';
    store.requests.cameTo({ node: node.id, content: own, isFirst: before === null, ...(head ? { head } : {}) });
    return { content: id, written: own };
    // A file that was put back just now is this draft's own: there is nothing to look at again.
  }, isBack);
  if (content !== before) {
    setHead(view, node, content, bytes.length, time, session);
    // A head with others' lines in it is not the session's own to remove unseen.
    if (decision.kind === 'merged') node.savedBy = undefined;
    node.ctime = clock();
  } else if (draft.timeSet) node.mtime = draft.mtime;
  tree.note(node);
  const timeOnly = content === before && draft.timeSet;
  closeDraft(view, draft, written, writer);
  if (content === before && !timeOnly && !isBack) return undefined;
  // A file that is back is news to the kernel it came back through, too.
  const attributes = [node, ...names.map(({ parent }) => parent)];
  return noteAnswer(view, tree.announce({ attributes, names }, isBack ? null : view), session, path);
}

/** Notes when a save is answered that others have to be told of first. */
export function noteAnswer(view: View, told: Told, session: Session, path: string): Told {
  const { knowledge, clock } = view.tree.services;
  return told?.then(() => knowledge.answered(session.key, view.tree.id, path, clock()));
}

/** The content whose bytes are still in a draft, or null where there was none; undefined when all of them are new. */
function sourceOf(draft: Draft): number | null | undefined {
  return draft.keepsBase || draft.base === null ? draft.base : undefined;
}

/** A time that was set through the draft is the file's, unless what others saved is in it as well. */
function timeOf(draft: Draft, node: FileNode, decision: Decision, now: number): number {
  if (decision.kind === 'merged') return node.nextTime(now, Math.max(draft.shown, draft.mtime));
  if (draft.timeSet && (node.content === null || draft.mtime > node.shown)) return draft.mtime;
  return Math.floor(draft.mtime / 1000) > Math.floor(node.shown / 1000) ? draft.mtime : node.nextTime(now);
}

/** Changes a file's head in memory, and what that means for the quota. */
export function setHead(
  view: View,
  node: FileNode,
  content: number | null,
  size: number,
  mtime: number,
  session: Session | null,
): void {
  view.tree.quota.addFile(0, size - node.size);
  if (node.content === null) node.born = view.tree.services.clock();
  node.content = content;
  node.size = size;
  node.mtime = mtime;
  node.savedBy = session?.key;
}

/** Ends a draft whose bytes are a content now; the session's open handles show that content, whatever it was merged with. */
export function closeDraft(view: View, draft: Draft, content: number, pid: number): void {
  const { node, session } = draft;
  endDraft(view, draft);
  const { knowledge, clock } = view.tree.services;
  knowledge.wrote(session, view.tree.id, node.parent ? pathOf(node) : node.removedFrom, content, pid, clock());
  for (const { handles } of view.tree.views) {
    for (const handle of handles.values()) {
      if (handle.kind === 'write' && handle.draft === draft) {
        handle.snapshot = content;
        handle.writers.clear();
        handle.opener = undefined;
      } else if (handle.kind === 'read' && handle.node === node && handle.session.key === session.key) {
        handle.content = content;
      } else continue;
      handles.changed(handle);
    }
  }
}

/** Gives back what a draft claimed of the quota, and forgets its bytes. */
export function endDraft(view: View, draft: Draft): void {
  view.tree.quota.claim(-draft.claimed);
  draft.claimed = 0;
  draft.end();
  noteDraft(view, draft);
}

/** Claims of the quota what a draft of `size` bytes adds to the head; false, and nothing claimed, over the limit. */
export function claimFor(view: View, draft: Draft, size: number): boolean {
  const { quota } = view.tree;
  const more = (draft.node.parent ? Math.max(0, size - draft.node.size) : 0) - draft.claimed;
  if (!quota.allowsBytes(more)) {
    quota.refused = pathOf(draft.node);
    return false;
  }
  quota.claim(more);
  draft.claimed += more;
  return true;
}

interface Place {
  readonly node: FileNode;
  readonly path: string;
  /** The file was removed, and is to be put back. */
  readonly isBack: boolean;
}

/** Where a draft is to be saved; undefined when its own session removed the file, or something else is in the way. */
function placeOf(view: View, draft: Draft): Place | undefined {
  const { node, session } = draft;
  // Where another file took its place, that is the file by now, wherever it was moved to since.
  if (!node.parent && node.removedBy === session.key) return undefined;
  let last = node;
  while (!last.parent && last.replacedBy) last = last.replacedBy;
  if (last.parent && !last.isLocal) return { node: last, path: pathOf(last), isBack: false };
  const path = last.removedFrom;
  const there = view.tree.find(path);
  if (!there) return { node, path, isBack: true };
  return there.kind === 'file' ? { node: there, path, isBack: false } : undefined;
}

/** Puts a removed file back where it was, with the folders that it lay in; gives back the names that are there again. */
function putBack(view: View, node: FileNode, path: string): Names {
  const { tree } = view;
  const { store } = tree.services;
  const slash = path.lastIndexOf('/');
  const parent = store.write(() => tree.ensureDirectory(path.slice(0, Math.max(0, slash))));
  const name = path.slice(slash + 1);
  store.write(() => {
    store.restoreNode({ ...node.row(), parent: parent.id, name, content: null, size: 0 });
    store.recordChange(tree.id, node.id);
  });
  node.content = null;
  node.size = 0;
  node.removedBy = undefined;
  tree.adopt(node, parent, name);
  tree.quota.addFile(1, 0);
  return namesTo(node);
}

type Names = readonly { readonly parent: NonNullable<FileNode['parent']>; readonly name: string }[];

/** Every name on the way to a node: folders that were removed with it are back, too. */
function namesTo(node: FileNode): Names {
  const names: { parent: NonNullable<FileNode['parent']>; name: string }[] = [];
  for (let at: FileNode | NonNullable<FileNode['parent']> = node; at.parent; at = at.parent)
    names.push({ parent: at.parent, name: at.name });
  return names;
}

/** Makes a version of a path of what a draft holds, and ends the draft; the file stays as it is but for `more`, in the same transaction. */
export function keepVersion(view: View, draft: Draft, kind: VersionKind, path: string, more = () => {}): void {
  const { tree } = view;
  const { store } = tree.services;
  store.write(() => {
    const session = store.sessionRow(draft.session);
    store.addVersion({ tree: tree.id, path, content: store.putContent(draft.bytes), kind, session });
    if (draft.stored) store.deleteDraft(draft.id, draft.writes);
    more();
  }, true);
  endDraft(view, draft);
}

/** Keeps a draft as a version beside the head, which stays (spec §4.8); a file that was never saved is gone again. */
export function keepAside(view: View, draft: Draft, kind: VersionKind): Told {
  const { tree } = view;
  const { store } = tree.services;
  const { node, session } = draft;
  const inPlace = node.parent !== null && !node.isLocal;
  const path = inPlace ? pathOf(node) : node.removedFrom;
  const unsaved = inPlace && node.content === null;
  keepVersion(view, draft, kind, path, () => {
    if (unsaved) store.removeHead(node.row(), path, 0);
  });
  if (!unsaved || !node.parent) return undefined;
  const names = [{ parent: node.parent, name: node.name }];
  const attributes = [node.parent, node];
  tree.detach(node, session.key);
  tree.quota.addFile(-1, 0);
  return tree.announce({ attributes, names }, null);
}
