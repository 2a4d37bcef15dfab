import { describeError, log } from '../log.js';
import type { Store } from '../store/store.js';
import type { ServingThread } from './serving-thread.js';

/** How often, in ms, the store is looked after: log moved into the database, what nobody points to swept. */
const CARE = 200;
/** How often, in ms, contents that nothing points to any more are deleted. */
const SWEEP = 30_000;
/** Pause, in ms, between two turns of deleting. */
const SWEEP_PAUSE = 50;
/** How long, in µs, it is remembered what a session was served: a week, and longer where a person named the session. */
const SERVED_AGE = 7 * 86_400 * 1e6;
const CHOSEN_AGE = 90 * 86_400 * 1e6;
/**
 * Pages of the write-ahead log from which on they are moved into the database beside the serving thread, and from
 * which on it is made to begin the log anew, which it waits for.
 */
const LOG_PAGES = 1000;
const LOG_PAGES_MOST = 16_000;

/** Looks after a store beside the thread that serves it. */
export class StoreCare {
  readonly #store: Store;
  readonly #thread: ServingThread;
  readonly #timers: readonly NodeJS.Timeout[];
  #isEnded = false;

  constructor(store: Store, thread: ServingThread) {
    this.#store = store;
    this.#thread = thread;
    this.#timers = [setInterval(() => this.#takeCare(), CARE), setInterval(() => this.#sweepContents(), SWEEP)];
  }

  end(): void {
    this.#isEnded = true;
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Deletes what nobody needs any more, in turns that keep nobody waiting for long. */
  #sweepContents(): void {
    this.#sweepOnce().then(
      (more) => {
        if (more && !this.#isEnded) setTimeout(() => this.#sweepContents(), SWEEP_PAUSE).unref();
      },
      (error: unknown) => log('warn', 'contents could not be swept', { error: describeError(error) }),
    );
  }

  /** True when there was something to sweep. */
  async #sweepOnce(): Promise<boolean> {
    const held = await this.#thread.held();
    if (this.#isEnded) return false;
    const { contents, feed } = this.#store;
    const ids = contents.unreferenced(held);
    this.#store.write(() => {
      contents.sweep(ids, held);
      feed.prune();
      const { sessions, now } = this.#store;
      sessions.forgetServed(now - SERVED_AGE, now - CHOSEN_AGE);
    });
    return ids.length > 0;
  }

  #takeCare(): void {
    try {
      const [state] = this.#store.db.pragma('wal_checkpoint(NOOP)') as { log: number }[];
      const pages = state?.log ?? 0;
      if (pages > LOG_PAGES) this.#store.db.pragma('wal_checkpoint(PASSIVE)');
      if (pages > LOG_PAGES_MOST) this.#store.db.pragma('wal_checkpoint(RESTART)');
    } catch (error) {
      log('warn', 'store could not be looked after', { error: describeError(error) });
    }
  }
}
