/** Counts lines by their numbers. Made once for a merge, used for one place after the other. */
export class Tally {
  readonly #counts: Int32Array;

  /** `lines` is the number of different lines. */
  constructor(lines: number) {
    this.#counts = new Int32Array(lines);
  }

  of(id: number): number {
    return this.#counts[id] ?? 0;
  }

  add(ids: ArrayLike<number>): void {
    for (let index = 0; index < ids.length; index++) {
      const id = ids[index] ?? 0;
      this.#counts[id] = (this.#counts[id] ?? 0) + 1;
    }
  }

  /** Forgets lines that were added. */
  clear(ids: ArrayLike<number>): void {
    for (let index = 0; index < ids.length; index++) this.#counts[ids[index] ?? 0] = 0;
  }
}
