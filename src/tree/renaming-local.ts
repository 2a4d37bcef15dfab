import { constants } from 'node:os';
import type { NodeRow } from '../ports/store.js';
import { type Handle, localHandle, readHandle, writeHandle } from './handles.js';
import { localBytes } from './local-files.js';
import { storeDecision } from './merging.js';
import { type Move, meet, relink, timeAfter } from './moving.js';
import { type FileNode, pathOf } from './node.js';
import { keepVersion, noteAnswer, saveDraft, setHead, type Told } from './saving.js';
import { putAside, unseenHead } from './unseen.js';
import type { View } from './view.js';
import { draftOf } from './writing.js';

const { errno } = constants;

/** A rename of a file out of, or into, what is local: a temporary file that becomes memory, or memory put aside by an editor. */
export function renameAcrossLocal(view: View, move: Move & { node: FileNode }): Told | number {
  return move.node.isLocal ? becomeMemory(view, move) : becomeLocal(view, move);
}

/** Saves a local file's bytes as the head of a path (spec §4.6); the temporary leaves no trace. */
function becomeMemory(view: View, move: Move & { node: FileNode }): Told | number {
  const { node, from, to, name, session } = move;
  const { tree } = view;
  const { store, clock, knowledge } = tree.services;
  const target = move.target?.kind === 'file' ? move.target : undefined;
  const path = pathOf(to) === '' ? name : `${pathOf(to)}/${name}`;
  const refused = !target && !tree.quota.allowsFile() ? errno.ENOSPC : tooBig(view, node, target);
  if (refused !== 0) {
    tree.quota.refused = path;
    return refused;
  }
  const now = clock();
  const text = () => (node.content === null ? localBytes(view, node) : store.content(node.content));
  const met = meet(view, target, node, path, move, text);
  const size = met.bytes?.length ?? node.size;
  const before = target?.content ?? null;
  const {
    id: content,
    mtime,
    written,
  } = store.write(() => {
    const own = node.content ?? store.putContent(text());
    const id = met.bytes ? store.putContent(met.bytes) : own;
    if (target) {
      store.moveNode({ ...target.row(), parent: null, name: null });
      store.recordChange(tree.id, target.id);
    }
    const time = id === before && target ? target.mtime : timeAfter(node, target, now, met.bytes !== undefined);
    const place = { mount: 0, parent: to.id, name, content: id, size, mtime: time, ctime: now };
    const row: NodeRow = { ...node.row(), ...place, shown: Math.max(node.shown, target?.shown ?? 0, time) };
    store.moveNode(row);
    if (id === before) store.recordChange(tree.id, node.id);
    else {
      const sessionRow = store.sessionRow(session);
      storeDecision(view, 'recordHead', met.decision, { row, path, before, session: sessionRow, written: own });
    }
    if (node.content === null) store.deleteLocal(node.id);
    const head = id === before ? {} : { head: met.bytes ? ('merged' as const) : ('own' as const) };
    store.requests.cameTo({ node: node.id, content: own, ...head, ...(target ? { target: target.id } : {}) });
    return { id, mtime: time, written: own };
  });
  if (target) {
    tree.detach(target, session.key);
    target.replacedBy = node;
    target.ctime = now;
    tree.quota.addFile(-1, -target.size);
    node.shown = Math.max(node.shown, target.shown);
  }
  const { lookups } = node;
  node.lookups = 1;
  view.detach(node, null);
  node.lookups = lookups;
  node.mount = 0;
  tree.departed.delete(node.id);
  node.removedBy = undefined;
  relink(view, node, from, to, name, now);
  node.size = 0;
  node.content = null;
  setHead(view, node, content, size, mtime, session);
  if (target) {
    node.born = target.born;
    if (content === before) node.savedBy = target.savedBy;
    else if (met.bytes) node.savedBy = undefined;
    tree.note(target);
  }
  tree.note(node);
  tree.quota.addFile(1, 0);
  view.handles.replaceAll(node, (handle) => asMemoryHandle(view, node, handle, written));
  knowledge.wrote(session, tree.id, path, written, move.pid, now);
  const attributes = [to, node, ...(target ? [target] : [])];
  return noteAnswer(view, tree.announce({ attributes, names: [{ parent: to, name }] }, view), session, path);
}

function tooBig(view: View, node: FileNode, target: FileNode | undefined): number {
  if (node.size > view.tree.quota.limits.fileBytes) return errno.EFBIG;
  return view.tree.quota.allowsBytes(node.size - (target?.size ?? 0)) ? 0 : errno.ENOSPC;
}

/** What a handle of a local file is once the file is memory: each session reads the content, and writes its own draft. */
export function asMemoryHandle(view: View, node: FileNode, handle: Handle, content: number): Handle {
  if (handle.kind !== 'local') return handle;
  const { session, pid } = handle;
  if (!handle.writable) {
    const reader = readHandle(node, session, pid, content);
    node.readers.add(reader);
    return reader;
  }
  const draft = draftOf(view, node, session);
  draft.handles++;
  return writeHandle(draft, content);
}

/** Takes a file out of memory under a local name; its path keeps its history. */
function becomeLocal(view: View, { node, from, to, name, session, ...move }: Move & { node: FileNode }): Told {
  const { tree } = view;
  const { store, clock, knowledge } = tree.services;
  const draft = node.drafts?.get(session.key);
  const saved = store.requests.apart(() => {
    const told = draft?.dirty ? saveDraft(view, draft, move.pid) : undefined;
    for (const other of node.drafts?.values() ?? [])
      if (other.dirty) keepVersion(view, other, 'conflict', pathOf(node));
    return told;
  });
  const { target } = move;
  const path = pathOf(node);
  const oldName = node.name;
  const now = clock();
  const { content } = node;
  const unseen = unseenHead(view, node, session, path);
  store.write(() => {
    if (target) store.moveNode({ ...target.row(), parent: null, name: null });
    store.removeHead(node.row(), path, store.sessionRow(session));
    store.moveNode({ ...node.row(), mount: view.mount, parent: to.id, name, ctime: now });
    store.requests.cameTo({ node: node.id });
  });
  if (target) view.detach(target, null);
  const { size, lookups } = node;
  node.lookups = 1;
  tree.detach(node, session.key);
  node.lookups = lookups;
  tree.quota.addFile(-1, -size);
  node.mount = view.mount;
  node.content = content;
  node.drafts = undefined;
  node.removedBy = undefined;
  relink(view, node, from, to, name, now);
  tree.departed.set(node.id, node);
  tree.note(node);
  // Whoever reads goes on reading what it opened; who writes writes the local file from now on.
  view.handles.replaceAll(node, (handle) => {
    if (handle.kind !== 'write') return handle;
    handle.draft.handles--;
    return localHandle(node, handle.session, 0, true);
  });
  if (unseen) putAside(view, path, unseen);
  knowledge.missed(session, tree.id, path, now);
  const told = tree.announce({ attributes: [from], names: [{ parent: from, name: oldName }] }, view);
  return saved && told ? Promise.all([saved, told]) : (told ?? saved);
}
