import type { Meeting, Reconciled } from '../session/reconcile.js';

/** What the merge thread is asked; buffers arrive as plain byte arrays. */
export interface MergeRequest {
  readonly id: number;
  readonly meeting: Meeting;
}

/** What it answers; without a result the merge failed. */
export interface MergeAnswer {
  readonly id: number;
  readonly reconciled: Reconciled | undefined;
}

/** A view of bytes that came from another thread. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
