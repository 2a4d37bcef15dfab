import { join } from 'node:path';
import { JournalFile } from '../../src/daemon/journal-file.js';
import { type Journal, noJournal } from '../../src/ports/journal.js';
import type { Random } from './random.js';

/** Thrown where a process dies: what it had in memory is gone. */
export class Died extends Error {}

/** Decides when the process that serves dies, and keeps what it had noted for its successor. */
export interface Mortality {
  /** Where a transaction was just committed, or an answer is due. */
  mayDie(): void;
  /** What the process notes; read again after each death. */
  readonly journal: Journal;
  /** A successor begins. */
  revive(): void;
  /** A schedule begins. */
  begin(random: Random): void;
}

export const immortal: Mortality = {
  mayDie: () => undefined,
  journal: noJournal,
  revive: () => undefined,
  begin: () => undefined,
};

/** Of this many chances after a death, every second is taken: a successor may die over the same request. */
const SOON = 3;

/** Dies about once in `oneIn` times that it may, and often soon again. */
export class Mortal implements Mortality {
  readonly #path: string;
  readonly #oneIn: number;
  #random: Random | undefined;
  #journal: JournalFile;
  #soon = 0;
  deaths = 0;

  constructor(folder: string, oneIn: number) {
    this.#path = join(folder, 'journal');
    this.#oneIn = oneIn;
    this.#journal = new JournalFile(this.#path, false);
  }

  get journal(): Journal {
    return this.#journal;
  }

  begin(random: Random): void {
    this.#random = random;
  }

  mayDie(): void {
    const oneIn = this.#soon > 0 ? 2 : this.#oneIn;
    this.#soon = Math.max(0, this.#soon - 1);
    if (this.#random?.below(oneIn) !== 0) return;
    this.deaths++;
    this.#soon = SOON;
    throw new Died('the process dies');
  }

  revive(): void {
    this.#journal.close();
    this.#journal = new JournalFile(this.#path, true);
  }
}
