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

/** Dies about once in `oneIn` times that it may. */
export class Mortal implements Mortality {
  readonly #path: string;
  readonly #oneIn: number;
  #random: Random | undefined;
  #journal: JournalFile;
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
    if (this.#random?.below(this.#oneIn) !== 0) return;
    this.deaths++;
    throw new Died('the process dies');
  }

  revive(): void {
    this.#journal.close();
    this.#journal = new JournalFile(this.#path, true);
  }
}
