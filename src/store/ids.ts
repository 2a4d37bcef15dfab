import type Database from 'better-sqlite3';

/** Ids taken from the store's counter at a time. */
const BLOCK = 4096;

/** Hands out ids that no process ever gets twice, a block at a time so that most cost nothing. */
export class Ids {
  readonly #take;
  #next = 0;
  #end = 0;

  constructor(db: Database.Database) {
    const add = db
      .prepare<[], number>(`UPDATE meta SET value = value + ${BLOCK} WHERE key = 'next_id' RETURNING value`)
      .pluck();
    this.#take = () => add.get() as number;
  }

  next(): number {
    if (this.#next === this.#end) this.#refill();
    return this.#next++;
  }

  /** Forgets the block at hand: it was taken in a transaction that did not commit. */
  reset(): void {
    this.#next = this.#end;
  }

  #refill(): void {
    this.#end = this.#take();
    this.#next = this.#end - BLOCK;
  }
}
