import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JournalFile } from '../../src/daemon/journal-file.js';
import { reconcile } from '../../src/session/reconcile.js';
import { Kernel } from './kernel.js';
import { Died, type Mortality } from './mortal.js';

const who = { session: 'A', role: '' } as const;

/** Dies at the chances that it is told, counted from the moment that it is. */
class Doomed implements Mortality {
  readonly #path: string;
  journal: JournalFile;
  #at: number[] = [];
  #chances = 0;
  deaths = 0;

  constructor(folder: string) {
    this.#path = join(folder, 'journal');
    this.journal = new JournalFile(this.#path, false);
  }

  /** @param at how many chances each process has before it dies */
  dieAt(at: readonly number[]): void {
    this.#at = [...at];
    this.#chances = 0;
    this.deaths = 0;
  }

  mayDie(): void {
    if (this.#at[0] === undefined || this.#chances++ < this.#at[0]) return;
    this.#at.shift();
    this.#chances = 0;
    this.deaths++;
    throw new Died('the process dies');
  }

  revive(): void {
    this.journal.close();
    this.journal = new JournalFile(this.#path, true);
  }

  begin(): void {}
}

async function save(kernel: Kernel, name: string, text: string): Promise<void> {
  const fd = await kernel.open(who, name, 'create');
  if (typeof fd === 'string') throw new Error(`${name}: ${fd}`);
  await kernel.write(who, fd, 0, text);
  await kernel.close(who, fd);
}

async function replace(kernel: Kernel, name: string, text: string): Promise<void> {
  const fd = await kernel.open(who, name, 'trunc');
  if (typeof fd === 'string') throw new Error(`${name}: ${fd}`);
  await kernel.write(who, fd, 0, text);
  await kernel.close(who, fd);
}

/**
 * Chances that a process has before it dies: three for each of two names that are looked up first, then before the rename,
 * after its transaction, before and after its notes are there. Its successor is asked for the same request.
 */
const CHANCES = [6, 7, 8, 9];
const AGAIN = [0, 1, 2];
const pairs = CHANCES.flatMap((first) => AGAIN.map((second) => [first, second] as const));

test.each(pairs)(
  'a rename over which two processes die, at their chances %i and %i, is one that its session knows of',
  async (...deaths) => {
    const folder = mkdtempSync(join(tmpdir(), 'mend-test-'));
    const doomed = new Doomed(folder);
    const kernel = new Kernel(join(folder, 'store'), 1, { inPlace: false, reconcile }, doomed);
    try {
      kernel.begin();
      await save(kernel, 'draft.md', 'one\n');
      doomed.dieAt(deaths);
      expect(await kernel.rename(who, 'draft.md', 'note.md')).toBeUndefined();
      expect(doomed.deaths).toBe(2);
      doomed.dieAt([]);
      await replace(kernel, 'note.md', 'two\n');
      expect(await kernel.see('note.md')).toMatchObject({ text: 'two\n' });
      // Over a file that is there.
      await save(kernel, 'draft.md', 'three\n');
      doomed.dieAt(deaths);
      expect(await kernel.rename(who, 'draft.md', 'note.md')).toBeUndefined();
      doomed.dieAt([]);
      await replace(kernel, 'note.md', 'four\n');
      expect(await kernel.see('note.md')).toMatchObject({ text: 'four\n' });
      expect(await kernel.see('draft.md')).toMatchObject({ text: null });
    } finally {
      kernel.dispose();
      doomed.journal.close();
      rmSync(folder, { recursive: true });
    }
  },
);
