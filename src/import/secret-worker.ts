import { parentPort } from 'node:worker_threads';
import type { ScanAnswer, ScanRequest } from './secret-messages.js';
import { findSecrets } from './secret-rules.js';
import { textOf } from './secret-text.js';

/** The entry of a worker thread: scans one file after the other, and keeps and prints nothing of them. */
parentPort?.on('message', ({ id, bytes }: ScanRequest) => {
  findSecrets(textOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)))
    // What a rule throws may quote the text.
    .catch(() => undefined)
    .then((findings) => parentPort?.postMessage({ id, findings } satisfies ScanAnswer));
});
parentPort?.postMessage('ready');
