import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../errors.js';
import { HeldFolder } from '../import/held-folder.js';
import { describeError, log } from '../log.js';
import { datedName } from '../store/backup-names.js';
import { placeNew } from '../store/durable.js';
import type { PlaceFault } from '../store/place.js';
import type { Store } from '../store/store.js';
import { giveBack } from './give-back.js';
import { Pulse } from './pulse.js';
import type { ServingThread } from './serving-thread.js';
import { keepRoom } from './spare-room.js';

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
/** Unused bytes of the database from which on it is made smaller when nothing happens, if that is most of it. */
const UNUSED = 64 * 1024 ** 2;
/** Bytes in use up to which that is done: whoever wants to write meanwhile waits about a second for so many. */
const USED_MOST = 100 * 1024 ** 2;
/** Pause, in ms, before everything is written again where a sync failed a second time; it doubles each time. */
const PAUSE = 1000;
const PAUSE_MOST = 600_000;

/** Turns after which everybody has noticed that the database is not in its place, and nothing is written to it. */
const RESCUE = 3;

/** Looks after a store beside the thread that serves it. */
export class StoreCare {
  readonly #store: Store;
  readonly #thread: ServingThread;
  readonly #room: string;
  #pulse: Pulse | undefined;
  readonly #replace: () => Promise<never>;
  #isEnded = false;
  #fault: PlaceFault | undefined;
  /** Turns since it came up. */
  #turns = 0;
  /** What the store holds was saved beside it; tried at each turn until it is. */
  #isRescued = false;
  /** The store's folder, wherever it is moved. */
  readonly #folder: HeldFolder;
  /** Syncs that failed since the last one that went well. */
  #failures = 0;
  /** When everything is to be written again, in ms; until that is done no part of the log may be given up. */
  #writesAgain: number | undefined;

  /**
   * @param room where some room on the disk is kept
   * @param replace has another server take over, which opens the store anew
   */
  constructor(store: Store, thread: ServingThread, room: string, replace: () => Promise<never>) {
    this.#room = room;
    this.#replace = replace;
    this.#folder = HeldFolder.open(store.folder);
    this.#store = store;
    this.#thread = thread;
  }

  begin(): void {
    const now = (): void => {
      this.#keepRoom();
      this.#sweepContents();
    };
    const beat = (): void => {
      this.#takeCare();
      if (performance.now() < due) return;
      due = performance.now() + SWEEP;
      now();
    };
    let due = performance.now() + SWEEP;
    this.#pulse = new Pulse(this.#store.folder, CARE, beat, (rests) => {
      if (!rests) return;
      this.#shrink();
      giveBack(this.#store.db);
    });
    this.#keepRoom();
  }

  /** Gives the room back that the database no longer needs, as after much was written and removed. */
  #shrink(): void {
    const { db } = this.#store;
    const read = (pragma: string): number => db.pragma(pragma, { simple: true }) as number;
    try {
      if (this.#isEnded || this.#fault !== undefined || this.#writesAgain !== undefined) return;
      const size = read('page_size');
      const unused = read('freelist_count') * size;
      const used = read('page_count') * size - unused;
      if (unused < UNUSED || unused < used || used > USED_MOST) return;
      db.exec('VACUUM');
      db.pragma('wal_checkpoint(PASSIVE)');
      log('info', 'the store was made smaller', { bytes: unused });
    } catch (error) {
      log('warn', 'the store could not be made smaller', { error: describeError(error) });
    }
  }

  #keepRoom(): void {
    try {
      if (!this.#isEnded && this.#fault === undefined) keepRoom(this.#room);
    } catch (error) {
      log('warn', 'no room can be kept on the disk', { error: describeError(error) });
    }
  }

  end(): void {
    this.#isEnded = true;
    this.#pulse?.end();
  }

  /**
   * Moves all of the log into the database for the last time. False where the disk fails: the log has to stay then, and
   * so the store is not to be closed; whoever opens it next plays the log from its start, and looks for damage.
   */
  giveUpLog(): boolean {
    try {
      if (this.#writesAgain !== undefined) this.#writeAgain();
      this.#store.db.pragma('wal_checkpoint(TRUNCATE)');
      return true;
    } catch (error) {
      log('error', 'the disk with the store fails: its log stays beside it', { error: describeError(error) });
      return false;
    }
  }

  /** Sees to it that nothing is lost when somebody takes the store's files away while they are in use. */
  #isDisplaced(): boolean {
    const fault = this.#store.place?.fault;
    const isNews = fault !== this.#fault;
    this.#fault = fault;
    this.#turns = isNews ? 0 : this.#turns + 1;
    if (isNews) this.#isRescued = false;
    if (fault === undefined) return false;
    if (fault === 'database') {
      if (this.#turns >= RESCUE && !this.#isRescued) this.#rescue();
      return true;
    }
    // What is in the log alone moves into the database; a server that starts then has a new log.
    this.#store.db.pragma('wal_checkpoint(FULL)');
    if (isNews) {
      log('error', 'the log of the store was moved or removed while it is in use: another server takes over');
      this.#replace().catch((error: Error) => {
        log('error', 'no other server could take over', { reason: error.message });
        // Tried again at the next turn.
        this.#fault = undefined;
      });
    }
    return true;
  }

  #rescue(): void {
    const name = datedName(this.#folder.path, 'rescued', new Date());
    log('error', 'the store was moved, removed or replaced while it is in use: nothing is written', { copy: name });
    const copy = join(this.#folder.path, name);
    const fresh = `${copy}.${process.pid}`;
    try {
      this.#store.db.prepare('VACUUM INTO ?').run(fresh);
      chmodSync(fresh, 0o600);
      placeNew(fresh, copy);
      this.#isRescued = true;
    } finally {
      rmSync(fresh, { force: true });
    }
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
    if (this.#store.place?.fault) return false;
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
      if (this.#isDisplaced()) return;
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
