import type { CameTo } from '../ports/store.js';
import type { Session } from '../session/session.js';
import { type AttributeChange, changeAttributes } from './changing-attributes.js';
import type { Draft } from './draft.js';
import { handleFor } from './finding-handles.js';
import type { Fh } from './handles.js';
import { saveEmpty } from './naming.js';
import { type DirectoryNode, FileNode, pathOf, type TreeNode } from './node.js';
import { openNew, reopened, touch } from './opening.js';
import { RENAME_EXCHANGE } from './renaming.js';
import type { Repeated } from './requests.js';
import { closeDraft } from './saving.js';
import type { Caller, View } from './view.js';
import { dropDraft, noteChange, noteWriter } from './writing.js';

/**
 * Answers requests that an earlier process applied to the store and did not answer. What it then did in memory is done
 * here for whatever it did not come to note; nothing is applied again. Each answer waits until the kernels have
 * forgotten what they may not have been told of.
 */

/** Resolves when every kernel was told of what the earlier process committed. A request holds names of its own kernel. */
function told(view: View): Promise<unknown> {
  const all = [...view.tree.views].flatMap(({ outdated }) => [outdated?.attributes, outdated?.names]);
  const awaited = all.filter((each) => each !== view.outdated?.names);
  return Promise.all([...awaited, view.tree.services.tellPeers()]);
}

const answerOnceTold = <T>(view: View, answer: T): Promise<T> => told(view).then(() => answer);

function at(view: View, parent: number, name: string | null): { directory: DirectoryNode; path: string } | undefined {
  const directory = view.directory(parent);
  if (typeof directory === 'number' || name === null) return undefined;
  const path = pathOf(directory);
  return { directory, path: path === '' ? name : `${path}/${name}` };
}

export function repeatWrite(view: View, caller: Caller, id: number, fh: Fh, length: number): { written: number } {
  const handle = handleFor(view, caller, id, fh);
  if (handle?.kind === 'write') {
    const { pid } = view.caller(caller);
    noteChange(view, handle.draft, pid, true);
    noteWriter(view, handle, pid);
  }
  return { written: length };
}

/** Lengths and times can be set again; what a truncation by path has saved is noted. */
export function repeatAttributes(
  view: View,
  caller: Caller,
  node: TreeNode,
  change: AttributeChange,
  { came, isDone }: Repeated,
) {
  if (came.content !== undefined && !isDone && node.kind === 'file') {
    const { session, pid } = view.caller(caller);
    const { knowledge, clock } = view.tree.services;
    knowledge.wrote(session, view.tree.id, pathOf(node), came.content, pid, clock());
    noteHead(view, came, session);
  }
  const answer = changeAttributes(view, caller, node, change);
  return told(view).then(() => answer);
}

/** MKDIR and MKNOD. */
export function repeatMaking(view: View, caller: Caller, parent: number, { came, isDone }: Repeated) {
  const node = came.node === undefined ? undefined : view.node(came.node);
  if (!node) return undefined;
  const directory = view.directory(parent);
  if (!isDone && typeof directory !== 'number') touch(view.tree, directory, view.tree.services.clock());
  return view.foundOnceTold(node, caller, told(view));
}

export function repeatMknod(view: View, caller: Caller, parent: number, repeated: Repeated) {
  const node = repeated.came.node === undefined ? undefined : view.node(repeated.came.node);
  if (node instanceof FileNode && node.parent) saveEmpty(view, caller, node);
  return repeatMaking(view, caller, parent, repeated);
}

/** CREATE that had come so far that the file was opened. */
export function repeatOpening(view: View, caller: Caller) {
  const open = reopened(view, caller);
  const node = open && view.handles.openedBy(caller.unique ?? 0)?.node;
  return node && view.foundOnceTold(node, caller, told(view)).then((entry) => ({ entry, open }));
}

/** CREATE that had made the file, but not opened it. */
export function repeatCreate(
  view: View,
  caller: Caller,
  parent: number,
  flags: number,
  repeated: Repeated | undefined,
) {
  const node = repeated?.came.node === undefined ? undefined : view.node(repeated.came.node);
  if (!repeated || !(node instanceof FileNode)) return undefined;
  const open = openNew(view, caller, node, flags);
  if (typeof open === 'number') return open;
  node.made ||= view.tree.services.clock();
  view.tree.note(node);
  return repeatMaking(view, caller, parent, repeated)?.then((entry) => ({ entry, open }));
}

export function repeatUnlink(view: View, caller: Caller, parent: number, name: string | null, repeated: Repeated) {
  const place = at(view, parent, name);
  const node = repeated.came.node === undefined ? undefined : view.node(repeated.came.node);
  if (place && node && !repeated.isDone) {
    const { knowledge, clock } = view.tree.services;
    touch(view.tree, place.directory, clock());
    if (node.kind === 'file' && !node.isLocal) {
      const { session } = view.caller(caller);
      node.removedBy = session.key;
      node.removedFrom = place.path;
      view.tree.note(node);
      knowledge.missed(session, view.tree.id, place.path, clock());
    }
  }
  return answerOnceTold(view, 0);
}

export function repeatRmdir(view: View, parent: number, { isDone }: Repeated) {
  const directory = view.directory(parent);
  if (!isDone && typeof directory !== 'number') touch(view.tree, directory, view.tree.services.clock());
  return answerOnceTold(view, 0);
}

/** Where a rename goes from and to. */
interface Ends {
  readonly parent: number;
  readonly name: string | null;
  readonly newParent: number;
  readonly newName: string | null;
  readonly flags: number;
}

export function repeatRename(view: View, caller: Caller, ends: Ends, { came, isDone }: Repeated) {
  const from = at(view, ends.parent, ends.name);
  const to = at(view, ends.newParent, ends.newName);
  if (!from || !to || isDone) return answerOnceTold(view, 0);
  const { tree } = view;
  const { knowledge, clock } = tree.services;
  const now = clock();
  for (const { directory } of [from, to]) touch(tree, directory, now);
  const node = came.node === undefined ? undefined : view.node(came.node);
  const target = came.target === undefined ? undefined : view.node(came.target);
  if (!node) return answerOnceTold(view, 0);
  if ((ends.flags & RENAME_EXCHANGE) !== 0) {
    // No path begins with a slash.
    knowledge.move(tree.id, from.path, '/');
    knowledge.move(tree.id, to.path, from.path);
    knowledge.move(tree.id, '/', to.path);
    return answerOnceTold(view, 0);
  }
  const { session, pid } = view.caller(caller);
  const wasLocal = view.isLocalName(from.directory, ends.name ?? '');
  if (target instanceof FileNode && !target.isLocal && node instanceof FileNode) {
    target.removedBy = session.key;
    target.removedFrom = to.path;
    target.replacedBy = node;
    tree.note(target);
  }
  if (node instanceof FileNode && came.content !== undefined && (target || wasLocal)) {
    const { content } = came;
    knowledge.wrote(session, tree.id, to.path, content, pid, now);
    if (target instanceof FileNode) {
      node.savedBy = target.savedBy;
      node.born = target.born;
    } else node.born = now;
    noteHead(view, came, session);
  } else if (!node.isLocal) knowledge.move(tree.id, from.path, to.path);
  if (!wasLocal) knowledge.missed(session, tree.id, from.path, now);
  return answerOnceTold(view, 0);
}

/** Notes whose the head of a file is. */
function noteHead(view: View, came: CameTo, session: Session): void {
  const node = came.node === undefined ? undefined : view.node(came.node);
  if (!(node instanceof FileNode)) return;
  if (came.head === 'own') node.savedBy = session.key;
  else if (came.head === 'merged') node.savedBy = undefined;
  if (came.isFirst) node.born = view.tree.services.clock();
  view.tree.note(node);
}

/** Does what follows from a draft that was saved. */
function endSaved(view: View, draft: Draft, came: CameTo, pid: number): void {
  if (came.content === undefined || draft.dirty) return;
  noteHead(view, came, draft.session);
  closeDraft(view, draft, came.content, pid);
}

/** A draft was saved, or kept aside, at a close. */
export function repeatFlush(view: View, caller: Caller, id: number, fh: Fh, { came, isDone }: Repeated) {
  const handle = handleFor(view, caller, id, fh);
  if (handle?.kind === 'write' && !isDone) {
    const { pid } = view.caller(caller);
    if (came.content === undefined) handle.writers.delete(pid);
    else endSaved(view, handle.draft, came, pid);
    view.handles.changed(handle);
  }
  return answerOnceTold(view, 0);
}

export function repeatRelease(view: View, caller: Caller, id: number, fh: Fh, { came, isDone }: Repeated) {
  const handle = handleFor(view, caller, id, fh);
  if (handle) view.handles.remove(handle.serial);
  if (handle?.kind === 'write') {
    const { draft } = handle;
    if (!isDone) endSaved(view, draft, came, draft.writer);
    draft.handles--;
    dropDraft(draft);
  }
  return answerOnceTold(view, 0);
}
