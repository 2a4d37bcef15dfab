import { isSystemError } from '../errors.js';
import { describeError, log } from '../log.js';
import type { Store } from '../store/store.js';
import type { ServingThread } from './serving-thread.js';

/** How often, in ms, the store is looked after: log moved into the database, what nobody points to swept. */
const CARE = 200;
/** How often, in ms, contents that nothing points to any more are deleted. */
const SWEEP = 30_000;
/** Pause, in ms, between two turns of deleting. */
const SWEEP_PAUSE = 50;
/** How long, in µs, it is remembered what a session was served: a week. */
const SERVED_AGE = 7 * 86_400 * 1e6;
/**
 * Pages of the write-ahead log from which on they are moved into the database beside the serving thread, and from
 * which on it is made to begin the log anew, which it waits for.
 */
const LOG_PAGES = 1000;
const LOG_PAGES_MOST = 16_000;
/** Pause, in ms, before everything is written again where a sync failed a second time; it doubles each time. */
const PAUSE = 1000;
const PAUSE_MOST = 600_000;

/** Looks after a store beside the thread that serves it. */
export class StoreCare {
  readonly #store: Store;
  readonly #thread: ServingThread;
  readonly #timers: readonly NodeJS.Timeout[];
  #isEnded = false;
  /** Syncs that failed since the last one that went well. */
  #failures = 0;
  /** When everything is to be written again, in ms; until that is done no part of the log may be given up. */
  #writesAgain: number | undefined;

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
      this.#store.sessions.forgetServed(this.#store.now - SERVED_AGE);
    });
    return ids.length > 0;
  }

  #takeCare(): void {
    try {
      if (this.#writesAgain !== undefined) {
        if (Date.now() < this.#writesAgain) return;
        this.#writeAgain();
      }
      const [state] = this.#store.db.pragma('wal_checkpoint(NOOP)') as { log: number }[];
      const pages = state?.log ?? 0;
      if (pages <= LOG_PAGES) return;
      this.#store.db.pragma('wal_checkpoint(PASSIVE)');
      if (pages > LOG_PAGES_MOST) this.#store.db.pragma('wal_checkpoint(RESTART)');
      this.#failures = 0;
    } catch (error) {
      if (isSystemError(error, 'SQLITE_IOERR_FSYNC')) this.#syncFailed();
      log('warn', 'store could not be looked after', { error: describeError(error) });
    }
  }

  /** It may have been one of the log or of the database. */
  #syncFailed(): void {
    this.#store.log.doubt();
    const pause = this.#failures === 0 ? 0 : Math.min(PAUSE_MOST, PAUSE * 2 ** (this.#failures - 1));
    this.#failures++;
    this.#writesAgain = Date.now() + pause;
  }

  /**
   * Has everything written once more, since Linux takes for written what a sync failed to write. SQLite itself would copy
   * again only what came to the log since the last time, and then give up the log, which alone has the rest for sure.
   */
  #writeAgain(): void {
    // Puts every page into the log, and so into the database with the next complete checkpoint.
    this.#store.db.exec('VACUUM');
    this.#writesAgain = undefined;
    log('warn', 'a sync of the store failed: all of it was written again');
  }
}
