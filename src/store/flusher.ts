import { closeSync, fdatasync, fstatSync, openSync, writeSync } from 'node:fs';

/** Bytes of the write-ahead log that a daemon makes room for. */
const RESERVE = 16 * 1024 * 1024;

/** Forces the write-ahead log to the disk on a thread of its own; calls that come meanwhile share the next flush. */
export class Flusher {
  readonly #fd: number;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** @param file the database file, whose `-wal` must exist */
  constructor(file: string) {
    this.#fd = openSync(`${file}-wal`, 'r+');
  }

  /** Resolves when what was written before the call is on the disk; rejects with the system error of fdatasync(2). */
  flush(): Promise<void> {
    if (!this.#running) return this.#start();
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  /**
   * Fills the log up to some length with zeros, which SQLite takes for the end of the log: a flush of bytes that lie
   * within the file's length costs half of one that makes the file longer. Only for use while this process holds the
   * store's write lock.
   */
  reserve(length = RESERVE): void {
    const { size } = fstatSync(this.#fd);
    if (size < length) writeSync(this.#fd, Buffer.alloc(length - size), 0, length - size, size);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #start(): Promise<void> {
    this.#next = undefined;
    const flush = new Promise<void>((resolve, reject) => {
      fdatasync(this.#fd, (error) => {
        if (this.#running === flush) this.#running = undefined;
        if (error) reject(error);
        else resolve();
      });
    });
    this.#running = flush;
    return flush;
  }
}
