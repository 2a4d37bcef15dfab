import { parentPort } from 'node:worker_threads';
import { type Reconciled, reconcile } from '../session/reconcile.js';
import { bufferOf, type MergeAnswer, type MergeRequest } from './merge-messages.js';

/** The entry of a worker thread: merges one meeting after the other. */
parentPort?.on('message', ({ id, meeting: { head, text, ...rest } }: MergeRequest) => {
  let reconciled: Reconciled | undefined;
  try {
    const meeting = { ...rest, bases: rest.bases.map(bufferOf), head: bufferOf(head), text: bufferOf(text) };
    reconciled = reconcile(meeting);
  } catch {
    // Whoever asked merges it again in place, and there the fault is seen.
  }
  parentPort?.postMessage({ id, reconciled } satisfies MergeAnswer);
});
