import { constants } from 'node:os';
import type { NodeRow } from '../ports/store.js';
import type { Handle } from './handles.js';
import { localBytes } from './local-files.js';
import { type Move, relink, timeAfter } from './moving.js';
import { type FileNode, pathOf } from './node.js';
import { keepVersion, saveDraft, setHead, type Told } from './saving.js';
import type { View } from './view.js';
import { draftOf } from './writing.js';

const { errno } = constants;
const EMPTY = Buffer.alloc(0);

/** A rename of a file out of, or into, what is local: a temporary file that becomes memory, or memory put aside by an editor. */
export function renameAcrossLocal(view: View, move: Move & { node: FileNode }): Told | number {
  return move.node.isLocal ? becomeMemory(view, move) : becomeLocal(view, move);
}

/** Saves a local file's bytes as the head of a path (spec §4.6); the temporary leaves no trace. */
function becomeMemory(
  view: View,
  { node, from, to, name, session, ...move }: Move & { node: FileNode },
): Told | number {
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
  const { size } = node;
  const bytes = node.content === null ? localBytes(view, node) : EMPTY;
  const mtime = timeAfter(node, target, now);
  const before = target?.content ?? null;
  const content = store.write(() => {
    const id = node.content ?? store.putContent(bytes);
    if (target) {
      store.moveNode({ ...target.row(), parent: null, name: null });
      store.recordChange(tree.id, target.id);
    }
    const own = { mount: 0, parent: to.id, name, content: id, size };
    const row: NodeRow = { ...node.row(), ...own, mtime: id === before && target ? target.mtime : mtime, ctime: now };
    const shown = Math.max(node.shown, target?.shown ?? 0, row.mtime);
    store.moveNode({ ...row, shown });
    if (id === before) store.recordChange(tree.id, node.id);
    else store.recordHead(row, path, 'saved', store.sessionRow(session));
    if (node.content === null) store.deleteLocal(node.id);
    return id;
  });
  if (target) {
    tree.detach(target, session.key);
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
  setHead(view, node, content, size, content === before && target ? target.mtime : mtime, session);
  tree.quota.addFile(1, 0);
  view.handles.replaceAll(node, (handle) => asMemoryHandle(view, node, handle, content));
  knowledge.wrote(session, tree.id, path, content);
  return tree.announce({ attributes: [to, node, ...(target ? [target] : [])], names: [{ parent: to, name }] }, view);
}

function tooBig(view: View, node: FileNode, target: FileNode | undefined): number {
  if (node.size > view.tree.quota.limits.fileBytes) return errno.EFBIG;
  return view.tree.quota.allowsBytes(node.size - (target?.size ?? 0)) ? 0 : errno.ENOSPC;
}

/** What a handle of a local file is once the file is memory: each session reads the content, and writes its own draft. */
function asMemoryHandle(view: View, node: FileNode, handle: Handle, content: number): Handle {
  if (handle.kind !== 'local') return handle;
  const { session, pid } = handle;
  if (!handle.writable) {
    const reader: Handle = { kind: 'read', node, session, pid, content, finished: false };
    node.readers.add(reader);
    return reader;
  }
  const draft = draftOf(view, node, session);
  draft.handles++;
  return { kind: 'write', node, session, draft, snapshot: content, writers: new Set(), opener: undefined };
}

/** Takes a file out of memory under a local name; its path keeps its history. */
function becomeLocal(view: View, { node, from, to, name, session, ...move }: Move & { node: FileNode }): Told {
  const { tree } = view;
  const { store, clock, knowledge } = tree.services;
  const draft = node.drafts?.get(session.key);
  const saved = draft?.dirty ? saveDraft(view, draft) : undefined;
  for (const other of node.drafts?.values() ?? [])
    if (other.dirty) keepVersion(view, other, 'interrupted', pathOf(node));
  const { target } = move;
  const path = pathOf(node);
  const oldName = node.name;
  const now = clock();
  const { content } = node;
  store.write(() => {
    if (target) store.moveNode({ ...target.row(), parent: null, name: null });
    store.removeHead(node.row(), path, store.sessionRow(session));
    store.moveNode({ ...node.row(), mount: view.mount, parent: to.id, name, ctime: now });
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
  // Whoever reads goes on reading what it opened; who writes writes the local file from now on.
  view.handles.replaceAll(node, (handle) => {
    if (handle.kind !== 'write') return handle;
    handle.draft.handles--;
    return { kind: 'local', node, session: handle.session, pid: 0, writable: true };
  });
  knowledge.served(session, tree.id, path, null);
  const told = tree.announce({ attributes: [from], names: [{ parent: from, name: oldName }] }, view);
  return saved && told ? Promise.all([saved, told]) : (told ?? saved);
}
