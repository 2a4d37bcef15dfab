import type { StoredDraft } from '../ports/store.js';
import type { Draft } from './draft.js';
import { type Handle, localHandle, readHandle, writeHandle } from './handles.js';
import { DirectoryNode, FileNode, type TreeNode } from './node.js';
import { type DraftNote, type FileNote, givenKey, type HandleNote, numberedSession } from './notes.js';
import { claimFor, keepAside } from './saving.js';
import type { Tree } from './tree.js';
import type { Unseen } from './unseen.js';
import type { View } from './view.js';
import { contentOf, draftOf, dropDraft } from './writing.js';

/**
 * Brings a tree that was loaded from the store to where a process that died had it: removed files that somebody holds,
 * open handles, unsaved bytes, and what was noted of files and folders.
 * @param views its mounts, loaded as well; nothing is served yet
 */
export function resume(tree: Tree, views: readonly View[]): void {
  holdOrphans(tree, views);
  const find = (id: number): TreeNode | undefined => {
    if (id === tree.root.id) return tree.root;
    for (const view of views) {
      const node = view.node(id);
      if (node) return node;
    }
    return undefined;
  };
  resumeNodes(tree, find);
  const [first] = views;
  if (first) for (const stored of tree.services.store.loadDrafts(tree.id)) resumeDraft(first, stored, find);
  for (const view of views) resumeHandles(view, find);
  for (const view of views) {
    view.settling.inherited = true;
    view.inherit([...tree.nodes.values(), ...view.locals, ...tree.departed.values()]);
    for (const [unique] of tree.services.journal.left(`q/${view.mount}/`)) view.doneBefore.add(Number(unique));
  }
}

/** Nodes that lie in no folder, but those that no kernel holds any more. */
function holdOrphans(tree: Tree, views: readonly View[]): void {
  const { store, journal } = tree.services;
  const gone = journal.left('g/');
  for (const row of store.loadOrphans(tree.id)) {
    const node = row.kind === 'directory' ? new DirectoryNode(row) : new FileNode(row);
    if (gone.has(String(row.id))) tree.forget(node);
    else if (!node.isLocal) tree.nodes.set(node.id, node);
    else views.find(({ mount }) => mount === node.mount)?.hold(node);
  }
}

function resumeNodes(tree: Tree, find: (id: number) => TreeNode | undefined): void {
  const { journal } = tree.services;
  // Whoever served it may have told its time to somebody.
  for (const node of tree.nodes.values()) if (node.kind === 'file') node.shown = Math.max(node.shown, node.mtime);
  for (const [id, value] of journal.left('f/')) {
    const node = find(Number(id));
    if (node?.kind !== 'file' || node.tree !== tree.id) continue;
    const note = value as FileNote;
    node.made = note.made;
    node.born = note.born;
    node.savedBy = note.savedBy;
    node.hidden = note.hidden;
    if (note.refused) node.refused = new Map(note.refused);
    if (node.parent) continue;
    node.removedBy = note.removedBy;
    node.removedFrom = note.removedFrom ?? '';
    const other = note.replacedBy === undefined ? undefined : find(note.replacedBy);
    if (other?.kind === 'file') node.replacedBy = other;
  }
  for (const [id, value] of journal.left('t/')) {
    const node = find(Number(id));
    if (node?.kind !== 'directory' || node.tree !== tree.id) continue;
    const { mtime, ctime } = value as DirectoryNode;
    node.mtime = Math.max(node.mtime, mtime);
    node.ctime = Math.max(node.ctime, ctime);
    node.timesChanged = true;
  }
  for (const [path, value] of journal.left(`a/${tree.id}/`)) tree.setAside.set(path, value as Unseen);
}

/** Plays the stored writes of a draft. */
function resumeDraft(view: View, stored: StoredDraft, find: (id: number) => TreeNode | undefined): void {
  const node = find(stored.node);
  if (node?.kind !== 'file') return;
  const { store, journal, clock } = view.tree.services;
  const note = journal.get(`d/${stored.id}`) as DraftNote | undefined;
  const draft = draftOf(view, node, stored.by, stored.id);
  const base = stored.base === null ? undefined : store.contentIfKept(stored.base);
  const first = stored.first === null ? undefined : store.contentIfKept(stored.first);
  draft.folded = note?.folded;
  draft.mtime = note?.mtime ?? node.nextTime(clock());
  draft.timeSet = note?.timeSet ?? false;
  const bytes = first ?? base ?? Buffer.alloc(0);
  draft.resume(stored.base, bytes, (base?.length ?? 0) === 0, stored.first !== null);
  for (const { position, bytes: written, at } of stored.writes) draft.replay(position, written, at);
  if (note?.timeSet) draft.mtime = note.mtime;
  draft.stored = true;
  draft.writes = stored.writes.length;
  resumeNotes(view, draft, note);
}

function resumeNotes(view: View, draft: Draft, note: DraftNote | undefined): void {
  draft.begun = note?.begun ?? view.tree.services.clock();
  const known = note?.known;
  draft.known = known && { settled: known.settled, read: known.read, echo: known.echo, looked: known.looked };
  draft.writer = note?.writer ?? 0;
  // Its session may have been told of this time.
  draft.shown = draft.mtime;
  claimFor(view, draft, draft.size);
}

function resumeHandles(view: View, find: (id: number) => TreeNode | undefined): void {
  const { tree, mount } = view;
  const { journal, store } = tree.services;
  for (const [serial, value] of journal.left(`h/${mount}/`)) {
    const note = value as HandleNote;
    let node = find(note.node);
    if (!node) {
      // A file that another mount put aside under a local name of its own.
      const row = store.loadNode(note.node);
      if (row?.kind === 'file') {
        node = new FileNode(row);
        tree.departed.set(node.id, node);
      }
    }
    if (node?.kind !== 'file') continue;
    const handle = node.isLocal ? localOf(view, node, note) : handleOf(view, node, note);
    handle.opening = note.opening;
    view.handles.restore(Number(serial), handle);
  }
  view.handles.goOn(journal.get(givenKey(mount)) as number | undefined);
}

/** A handle of a local file; whoever read it as memory goes on reading that. */
function localOf(view: View, node: FileNode, note: HandleNote): Handle {
  if (note.kind === 'read') return handleOf(view, node, note);
  const handle = localHandle(
    node,
    numberedSession(view.tree.services.journal, note.session),
    note.pid ?? 0,
    note.kind === 'write' || note.writable === true,
  );
  handle.wrote = note.wrote ?? false;
  return handle;
}

/** A handle of a file of memory, which may have been a local one when it was noted. */
function handleOf(view: View, node: FileNode, note: HandleNote): Handle {
  const { kind, pid = 0, readTo = 0 } = note;
  const session = numberedSession(view.tree.services.journal, note.session);
  const content = note.content === undefined ? node.content : note.content;
  if (kind === 'read' || (kind === 'local' && !note.writable)) {
    const reader = readHandle(node, session, pid, content);
    reader.finished = note.finished ?? false;
    reader.readTo = readTo;
    node.readers.add(reader);
    return reader;
  }
  const draft = draftOf(view, node, session, note.draft);
  draft.handles++;
  if (!draft.dirty) resumeUnstored(view, draft);
  const handle = writeHandle(draft, content, note.opener);
  for (const writer of note.writers ?? []) handle.writers.add(writer);
  handle.readTo = readTo;
  handle.closed = note.closed ?? false;
  return handle;
}

/** A file that was created and not written yet has a draft without rows, until it is saved. */
function resumeUnstored(view: View, draft: Draft): void {
  const { journal, clock } = view.tree.services;
  const note = journal.get(`d/${draft.id}`) as DraftNote | undefined;
  if (!note?.unstored || draft.node.content !== null) return;
  draft.begin(null, contentOf(view, null), clock());
  draft.mtime = note.mtime;
  resumeNotes(view, draft, note);
}

/**
 * Keeps as versions what nobody has open, once everything that was not answered was sent again: whoever wrote it is
 * gone with the request.
 */
export function keepLeftovers(view: View): void {
  for (const node of [...view.tree.nodes.values()]) {
    if (node.kind !== 'file' || !node.drafts) continue;
    for (const draft of [...node.drafts.values()]) {
      if (draft.handles > 0) continue;
      if (draft.dirty) keepAside(view, draft, 'interrupted');
      dropDraft(draft);
    }
  }
}
