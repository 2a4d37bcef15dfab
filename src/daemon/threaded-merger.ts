import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { describeError, log } from '../log.js';
import { isSlow, type Meeting, type Reconciled, reconcile } from '../session/reconcile.js';
import type { Merger } from '../tree/merging.js';
import { bufferOf, type MergeAnswer, type MergeRequest } from './merge-messages.js';

/** Results that wait to be asked for again. */
const KEPT = 64;

/** Merges short texts at once, and long ones on a thread that is started with the first of them. */
export class ThreadedMerger implements Merger {
  inPlace = false;
  readonly #results = new LRUCache<string, Reconciled>({ max: KEPT });
  /** Merges under way, by key. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #waiting = new Map<number, (reconciled: Reconciled | undefined) => void>();
  #worker: Worker | undefined;
  #last = 0;

  reconcile(meeting: Meeting, keyOf: () => string): Reconciled | Promise<void> {
    if (!isSlow(meeting)) return reconcile(meeting);
    const key = keyOf();
    const result = this.#results.get(key);
    if (result) {
      this.#results.delete(key);
      return result;
    }
    if (this.inPlace) return reconcile(meeting);
    let running = this.#running.get(key);
    if (!running) {
      running = this.#send(meeting)
        .then((reconciled) => {
          this.#results.set(key, reconciled ?? reconcile(meeting));
        })
        .finally(() => this.#running.delete(key));
      this.#running.set(key, running);
    }
    return running;
  }

  /** Ends the thread; what is under way is merged in place. */
  close(): void {
    this.#worker?.terminate().catch((error: unknown) => log('debug', 'merge thread', { error: describeError(error) }));
  }

  #send(meeting: Meeting): Promise<Reconciled | undefined> {
    const worker = this.#thread();
    const id = ++this.#last;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      worker.postMessage({ id, meeting } satisfies MergeRequest);
    });
  }

  #thread(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(new URL('./merge-worker.js', import.meta.url));
    worker.on('message', ({ id, reconciled }: MergeAnswer) => {
      this.#waiting.get(id)?.(reconciled && received(reconciled));
      this.#waiting.delete(id);
    });
    worker.on('error', (error) => log('error', 'the merge thread failed', { error: describeError(error) }));
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
      for (const resolve of this.#waiting.values()) resolve(undefined);
      this.#waiting.clear();
    });
    worker.unref();
    this.#worker = worker;
    return worker;
  }
}

function received({ base, result }: Reconciled): Reconciled {
  return { base, result: result.kind === 'merged' ? { ...result, bytes: bufferOf(result.bytes) } : result };
}
