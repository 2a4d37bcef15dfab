import { closeSync, fdatasync, openSync } from 'node:fs';

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
