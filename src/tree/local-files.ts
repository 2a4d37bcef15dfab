import { constants } from 'node:os';
import { encodeFh } from './handles.js';
import type { FileNode } from './node.js';
import { KEEP_CACHE, O_TRUNC } from './open-flags.js';
import type { Opened } from './opening.js';
import type { View } from './view.js';

const { errno } = constants;

/** Largest local file, in bytes. */
const MAXIMUM = 2 ** 34;

/** Opens a local file (spec §3.7): shared by every process of this mount at once, cached by the kernel, never versioned. */
export function openLocal(view: View, node: FileNode, flags: number): Opened | number {
  if ((flags & O_TRUNC) !== 0 && node.size > 0) truncateLocal(view, node, 0);
  const { high, low } = encodeFh('local', view.handles.add({ kind: 'local', node }), node.id);
  return { fhHigh: high, fhLow: low, openFlags: KEEP_CACHE };
}

export function writeLocal(view: View, node: FileNode, position: number, data: Buffer): number {
  if (position + data.length > MAXIMUM) return errno.EFBIG;
  const { store, clock } = view.tree.services;
  const now = clock();
  const size = Math.max(node.size, position + data.length);
  store.write(() => {
    store.writeLocal(node.id, position, data);
    store.updateNode({ ...node.row(), size, mtime: now, ctime: now });
  });
  node.size = size;
  node.mtime = now;
  node.ctime = now;
  return 0;
}

export function truncateLocal(view: View, node: FileNode, size: number): number {
  if (size > MAXIMUM) return errno.EFBIG;
  const { store, clock } = view.tree.services;
  const now = clock();
  store.write(() => {
    if (size < node.size) store.truncateLocal(node.id, size);
    store.updateNode({ ...node.row(), size, mtime: now, ctime: now });
  });
  node.size = size;
  node.mtime = now;
  node.ctime = now;
  return 0;
}

/** All bytes of a local file. */
export function localBytes(view: View, node: FileNode): Buffer {
  return view.tree.services.store.readLocal(node.id, 0, node.size, node.size);
}
