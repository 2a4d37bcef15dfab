import { decodeFh, type Fh, type Handle } from './handles.js';
import { readLocal } from './local-files.js';
import type { FileNode } from './node.js';
import type { Caller, View } from './view.js';
import { contentOf } from './writing.js';

/** A slice of bytes that are not to be changed. */
export interface Slice {
  readonly data: Buffer;
  readonly start: number;
  readonly length: number;
}

/** Reads through a handle; short at the end of the file (`read(2)`). */
export function read(view: View, caller: Caller, node: FileNode, fh: Fh, offset: number, size: number): Slice {
  const handle = view.handles.get(fh);
  if (handle?.kind === 'local' || (!handle && node.isLocal)) {
    const data = readLocal(view, node, offset, size);
    return { data, start: 0, length: data.length };
  }
  const data = bytesOf(view, caller, node, handle, fh);
  const start = Math.min(offset, data.length);
  const length = Math.min(size, data.length - start);
  if (handle?.kind === 'read' && start + length === data.length) handle.finished = true;
  return { data, start, length };
}

/** What a handle shows now: the draft of the caller's session, else the content it was opened on. */
function bytesOf(view: View, caller: Caller, node: FileNode, handle: Handle | undefined, fh: Fh): Buffer {
  if (handle?.kind === 'write') return handle.draft.dirty ? handle.draft.bytes : contentOf(view, handle.snapshot);
  if (node.drafts) {
    const draft = node.drafts.get(handle?.kind === 'read' ? handle.session.key : view.caller(caller).session.key);
    if (draft?.dirty) return draft.bytes;
  }
  if (handle?.kind === 'read') return contentOf(view, handle.content);
  const { kind, id } = decodeFh(fh);
  return contentOf(view, kind === 'read' && id > 0 ? id : node.content);
}
