import { constants } from 'node:os';
import { encodeFh, localHandle } from './handles.js';
import type { FileNode } from './node.js';
import { KEEP_CACHE, O_ACCMODE, O_TRUNC } from './open-flags.js';
import type { Opened } from './opening.js';
import type { Caller, View } from './view.js';

const { errno } = constants;

/** Largest local file, in bytes. */
const MAXIMUM = 2 ** 34;

/** Opens a local file (spec §3.7): shared by every process of this mount at once, cached by the kernel, never versioned. */
export function openLocal(view: View, caller: Caller, node: FileNode, flags: number): Opened | number {
  if ((flags & O_TRUNC) !== 0 && node.size > 0) truncateLocal(view, node, 0);
  const { pid, session } = view.caller(caller);
  const writable = (flags & O_ACCMODE) !== 0;
  const handle = localHandle(node, session, pid, writable);
  handle.opening = caller.unique ?? 0;
  const { high, low } = encodeFh('local', view.handles.add(handle), node.id);
  return { fhHigh: high, fhLow: low, openFlags: KEEP_CACHE };
}

export function writeLocal(view: View, node: FileNode, position: number, data: Buffer): number {
  if (position + data.length > MAXIMUM) return errno.EFBIG;
  const { store } = view.tree.services;
  // A small file that is written whole, as temporary files are, is a content: renaming it into memory moves no bytes.
  const whole = position === 0 && node.size === 0 && data.length <= view.tree.quota.limits.fileBytes;
  change(view, node, Math.max(node.size, position + data.length), () => {
    if (whole) return store.putContent(data);
    spread(view, node);
    store.writeLocal(node.id, position, data);
    return null;
  });
  return 0;
}

export function truncateLocal(view: View, node: FileNode, size: number): number {
  if (size > MAXIMUM) return errno.EFBIG;
  change(view, node, size, () => {
    spread(view, node);
    if (size < node.size) view.tree.services.store.truncateLocal(node.id, size);
    return null;
  });
  return 0;
}

/** Stores a change of a local file, and notes its new length and time; `work` answers the content that holds its bytes, if one does. */
function change(view: View, node: FileNode, size: number, work: () => number | null): void {
  const { store, clock } = view.tree.services;
  const now = clock();
  node.content = store.write(() => {
    const content = work();
    store.updateNode({ ...node.row(), content, size, mtime: now, ctime: now });
    return content;
  });
  node.size = size;
  node.mtime = now;
  node.ctime = now;
}

/** Puts the bytes of a file that is a content into blocks, where they can change. */
function spread(view: View, node: FileNode): void {
  const { store } = view.tree.services;
  if (node.content !== null) store.writeLocal(node.id, 0, store.content(node.content));
}

export function readLocal(view: View, node: FileNode, position: number, length: number): Buffer {
  const { store } = view.tree.services;
  if (node.content === null) return store.readLocal(node.id, position, length, node.size);
  return store.content(node.content).subarray(position, position + length);
}

/** All bytes of a local file. */
export function localBytes(view: View, node: FileNode): Buffer {
  return readLocal(view, node, 0, node.size);
}
