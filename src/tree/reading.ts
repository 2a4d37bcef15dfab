import { constants } from 'node:os';
import { handleFor } from './finding-handles.js';
import type { Fh, Handle, ReadHandle, WriteHandle } from './handles.js';
import { readLocal } from './local-files.js';
import { type FileNode, savedAs } from './node.js';
import type { Caller, View } from './view.js';
import { contentOf } from './writing.js';

const { errno } = constants;

/** Bytes that programs look at to tell what a file is. */
const SNIFF = 4096;

/** A slice of bytes that are not to be changed. */
export interface Slice {
  readonly data: Buffer;
  readonly start: number;
  readonly length: number;
}

/** Reads through a handle; short at the end of the file (`read(2)`). EBADF when the handle is not one of the file. */
export function read(view: View, caller: Caller, node: FileNode, fh: Fh, offset: number, size: number): Slice | number {
  const handle = handleFor(view, caller, node.id, fh);
  if (handle?.kind === 'local' || (!handle && node.isLocal)) {
    const data = readLocal(view, node, offset, size);
    return { data, start: 0, length: data.length };
  }
  if (!handle) return errno.EBADF;
  const data = bytesOf(view, node, handle);
  const start = Math.min(offset, data.length);
  const length = Math.min(size, data.length - start);
  note(view, caller, handle, { start, size, length: data.length });
  return { data, start, length };
}

/** Notes what a session has come to know by reading (spec §5.2). */
function note(
  view: View,
  caller: Caller,
  handle: Handle,
  { start, size, length }: { start: number; size: number; length: number },
): void {
  const end = Math.min(start + size, length);
  if (handle.kind === 'local' || handle.readTo < 0) return;
  if (handle.kind === 'read' && end === length) handle.finished = true;
  const first = handle.readTo === 0;
  if (start <= handle.readTo) handle.readTo = Math.max(handle.readTo, end);
  // A short look at the start, as for the kind of a file, is no reading of it, even if the file is shorter still.
  const sniff = size <= SNIFF && start < length && start + size !== length;
  const whole = handle.readTo >= length && !sniff;
  if (whole) handle.readTo = -1;
  // What was read to its end is noted as known; how far another reading has come is noted here.
  view.handles.changed(handle, whole);
  if (!whole && !first) return;
  const { node, session } = handle;
  const path = savedAs(node);
  if (node.isLocal || path === '') return;
  const { tree } = view;
  // Its own unsaved bytes are nothing that it learns.
  if (node.drafts?.get(session.key)?.dirty) return;
  const content = handle.kind === 'read' ? handle.content : handle.snapshot;
  const { knowledge, clock } = tree.services;
  const pid = handle.kind === 'read' ? handle.pid : view.caller(caller).pid;
  if (whole) knowledge.read(session, tree.id, path, content, pid, clock());
  else knowledge.readPart(session, tree.id, path, content, clock());
}

/** What a handle shows now: the draft of its session, else the content it was opened on. */
function bytesOf(view: View, node: FileNode, handle: ReadHandle | WriteHandle): Buffer {
  if (handle.kind === 'write') return handle.draft.dirty ? handle.draft.bytes : contentOf(view, handle.snapshot);
  const draft = node.drafts?.get(handle.session.key);
  return draft?.dirty ? draft.bytes : contentOf(view, handle.content);
}
