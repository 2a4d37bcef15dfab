import { KEEP } from './kernel-cache.js';
import { type FileNode, pathOf, type TreeNode } from './node.js';
import type { Caller, View } from './view.js';

/** How long after its save, in µs, a process that has not opened the file since sees the length of what it wrote. */
const OWN_LENGTH = 5_000_000;

/** Attributes of a node as one caller sees them. Times are µs since the epoch, sizes bytes. */
export interface Attributes {
  readonly ino: number;
  readonly kind: 'file' | 'directory';
  readonly size: number;
  readonly mtime: number;
  readonly atime: number;
  readonly ctime: number;
  readonly nlink: number;
}

/** Attributes, and for how many seconds every process on the mount would see the same. */
export interface AttributesAnswer {
  readonly attr: Attributes;
  readonly attrValid: number;
}

/** What a lookup found; node 0 stands for "no such name". */
export interface EntryAnswer extends AttributesAnswer {
  readonly node: number;
  readonly entryValid: number;
}

const NOTHING: Attributes = { ino: 0, kind: 'file', size: 0, mtime: 0, atime: 0, ctime: 0, nlink: 0 };

/** Tells a kernel that there is no such name, which it may remember until it hears otherwise. */
export const NO_ENTRY: EntryAnswer = { node: 0, entryValid: KEEP, attr: NOTHING, attrValid: 0 };

export function entryFor(view: View, node: TreeNode, caller: Caller): EntryAnswer {
  const { attr, attrValid } = attributesOf(view, node, caller);
  // The kernel may make its inode only after a change that follows this answer was announced, and would not hear of
  // it: where others can change the file, it asks for the attributes once it has the inode.
  return { node: node.id, entryValid: KEEP, attr, attrValid: view.tree.isShared ? 0 : attrValid };
}

export function attributesOf(view: View, node: TreeNode, caller: Caller): AttributesAnswer {
  if (node.kind === 'directory') {
    const { mtime, atime, ctime, parent } = node;
    const root = node === view.tree.root;
    // Its name, its own `.`, and the `..` of each folder in it.
    const [ino, nlink] = [root ? 1 : node.id, parent || root ? 2 + view.foldersIn(node) : 0];
    return { attr: { ino, kind: 'directory', size: 0, mtime, atime, ctime, nlink }, attrValid: KEEP };
  }
  if (node.isLocal) {
    const attr = fileAttributes(node, node.size, node.mtime);
    // Who read it while it was memory goes on reading that.
    return heldAttributes(view, node, caller) ?? { attr, attrValid: KEEP };
  }
  const now = view.tree.services.clock();
  const special =
    draftAttributes(view, node, caller) ??
    heldAttributes(view, node, caller) ??
    savedAttributes(view, node, caller, now);
  if (special) return special;
  const { attr } = headAttributes(node, 0);
  return { attr, attrValid: view.settling.validity(node, attr, now) };
}

function fileAttributes(node: FileNode, size: number, mtime: number): Attributes {
  const { id, atime, ctime, parent } = node;
  return { ino: id, kind: 'file', size, mtime, atime, ctime, nlink: parent ? 1 : 0 };
}

function headAttributes(node: FileNode, attrValid: 0): AttributesAnswer {
  if (node.mtime > node.shown) node.shown = node.mtime;
  return { attr: fileAttributes(node, node.size, node.mtime), attrValid };
}

/** While anybody has unsaved bytes the answer depends on who asks: the session that wrote sees its draft. */
function draftAttributes(view: View, node: FileNode, caller: Caller): AttributesAnswer | undefined {
  if (!node.drafts) return undefined;
  let anyDirty = false;
  for (const draft of node.drafts.values()) anyDirty ||= draft.dirty;
  if (!anyDirty) return undefined;
  const draft = node.drafts.get(view.caller(caller).session.key);
  if (!draft?.dirty) return heldAttributes(view, node, caller) ?? headAttributes(node, 0);
  if (draft.mtime > draft.shown) draft.shown = draft.mtime;
  return { attr: fileAttributes(node, draft.size, draft.mtime), attrValid: 0 };
}

/**
 * A process that opened the file and has not read to its end yet sees the length of what it will read: many
 * programs ask for the length after `open` and read just that many bytes (spec §4.2).
 */
function heldAttributes(view: View, node: FileNode, caller: Caller): AttributesAnswer | undefined {
  let old = false;
  for (const reader of node.readers) old ||= !reader.finished && reader.content !== node.content;
  if (!old) return undefined;
  const { pid } = view.caller(caller);
  for (const reader of node.readers) {
    if (reader.finished || reader.content === node.content || reader.pid !== pid) continue;
    const size = reader.content === null ? 0 : view.tree.services.store.content(reader.content).length;
    return { attr: fileAttributes(node, size, node.mtime), attrValid: 0 };
  }
  return headAttributes(node, 0);
}

/**
 * A process that saved the file sees the length of what it wrote until it opens the file again, also when that was
 * merged: Claude Code compares the two after each save, and tells its model that a save with another length failed.
 */
function savedAttributes(view: View, node: FileNode, caller: Caller, now: number): AttributesAnswer | undefined {
  const { content, parent, ctime } = node;
  if (content === null || !parent || now - ctime >= OWN_LENGTH) return undefined;
  const { knowledge, store } = view.tree.services;
  const unread = knowledge.unread(view.tree.id, pathOf(node), content, now - OWN_LENGTH);
  if (unread.length === 0) return undefined;
  const { pid, session } = view.caller(caller);
  const own = unread.find((one) => one.pid === pid);
  if (!own || hasOpened(view, node, pid, session.key)) return headAttributes(node, 0);
  return { ...headAttributes(node, 0), attr: fileAttributes(node, store.content(own.content).length, node.mtime) };
}

/** Whether a process has the newest content of a file open. */
function hasOpened(view: View, node: FileNode, pid: number, session: string): boolean {
  for (const reader of node.readers) if (reader.pid === pid && reader.content === node.content) return true;
  for (const handle of view.handles.values())
    if (
      handle.kind === 'write' &&
      handle.node === node &&
      handle.session.key === session &&
      handle.snapshot === node.content
    )
      return true;
  return false;
}
