import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';

/** Bytes of the write-ahead log that a daemon makes room for. */
const RESERVE = 16 * 1024 * 1024;
/** What is written again in one go; where there are only zeros, which is room and no log, nothing is. */
const ZEROS = Buffer.alloc(64 * 1024);

/** Forces the write-ahead log to the disk on a thread of its own; calls that come meanwhile share the next flush. */
export class Flusher {
  readonly #fd: number;
  readonly #exclusively: (work: () => void) => void;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  /**
   * A sync of the log has failed: Linux takes what it was to write for written, and the next sync would succeed without
   * it. While this is true and the log was not written again, nobody may be told that it is on the disk.
   */
  #isInDoubt = false;

  /**
   * @param file the database file, whose `-wal` must exist
   * @param exclusively runs some work while nobody writes to the log, or throws
   */
  constructor(file: string, exclusively: (work: () => void) => void) {
    this.#fd = openSync(`${file}-wal`, 'r+');
    this.#exclusively = exclusively;
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

  /** The same at once; throws what `flush` rejects with. */
  flushNow(): void {
    this.#settle();
    try {
      fdatasyncSync(this.#fd);
    } catch (error) {
      this.doubt();
      throw error;
    }
  }

  /** Notes that a sync of the log failed, whoever asked for it, and writes the log again as soon as that goes. */
  doubt(): void {
    this.#isInDoubt = true;
    try {
      this.#settle();
    } catch {
      // The next flush tries again, and fails with the reason.
    }
  }

  /**
   * Fills the log up to some length with zeros, which SQLite takes for the end of the log: a flush of bytes that lie
   * within the file's length costs half of one that makes the file longer.
   */
  reserve(length = RESERVE): void {
    this.#exclusively(() => {
      const { size } = fstatSync(this.#fd);
      if (size < length) writeSync(this.#fd, Buffer.alloc(length - size), 0, length - size, size);
    });
  }

  close(): void {
    closeSync(this.#fd);
  }

  #start(): Promise<void> {
    this.#next = undefined;
    this.#running = undefined;
    let isRunning = false;
    const flush = new Promise<void>((resolve, reject) => {
      this.#settle();
      fdatasync(this.#fd, (error) => {
        if (this.#running === flush) this.#running = undefined;
        if (!error) return resolve();
        this.doubt();
        reject(error);
      });
      isRunning = true;
    });
    if (isRunning) this.#running = flush;
    return flush;
  }

  #settle(): void {
    if (!this.#isInDoubt) return;
    this.#exclusively(() => {
      const bytes = Buffer.alloc(ZEROS.length);
      for (let at = 0, length = 0; ; at += length) {
        length = readSync(this.#fd, bytes, 0, bytes.length, at);
        if (length === 0) break;
        if (bytes.compare(ZEROS, 0, length, 0, length) !== 0) writeSync(this.#fd, bytes, 0, length, at);
      }
      this.#isInDoubt = false;
    });
  }
}
