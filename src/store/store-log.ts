import type Database from 'better-sqlite3';
import { describeError, log } from '../log.js';
import { Flusher } from './flusher.js';

/** Whether what was committed to a store is on the disk: SQLite itself does not flush its log at each commit. */
export class StoreLog {
  readonly #flusher: Flusher | undefined;
  /** Rises with each commit of another connection. */
  readonly #othersCommits;
  #flushedCommits = 0;
  #unflushed = false;

  /**
   * @param file the database file; undefined for a database in memory
   * @param exclusively runs some work while nobody else may write to the store, or throws
   */
  constructor(db: Database.Database, file: string | undefined, exclusively: (work: () => void) => void) {
    this.#flusher = file === undefined ? undefined : new Flusher(file, exclusively);
    this.#othersCommits = db.prepare<[], number>('PRAGMA data_version').pluck();
  }

  /** Something was committed through this connection. */
  committed(): void {
    this.#unflushed = true;
  }

  /** Resolves when everything that was committed before the call is on the disk; rejects as fdatasync(2) fails. */
  async flush(): Promise<void> {
    this.#unflushed = false;
    try {
      await this.#flusher?.flush();
    } catch (error) {
      this.#unflushed = true;
      throw error;
    }
  }

  /** The same at once; throws what `flush` rejects with. */
  flushNow(): void {
    this.#flusher?.flushNow();
  }

  /** Flushes when anybody has committed anything since the last time: another process may have ended since, unflushed. */
  flushIfNeeded(): Promise<void> {
    const commits = this.#othersCommits.get() ?? 0;
    if (!this.#unflushed && commits === this.#flushedCommits) return Promise.resolve();
    this.#flushedCommits = commits;
    return this.flush();
  }

  /** A sync of the log failed that SQLite asked for: what it was to bring to the disk is written again. */
  doubt(): void {
    this.#unflushed = true;
    this.#flusher?.doubt();
  }

  /** Makes room, so that flushing is quick; for a process that stays. */
  reserve(): void {
    try {
      this.#flusher?.reserve();
    } catch (error) {
      log('warn', 'no room could be made in the log: flushing it takes longer', { error: describeError(error) });
    }
  }

  close(): void {
    this.#flusher?.close();
  }
}
