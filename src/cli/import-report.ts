import type { MemoryHarness } from '../harness/adapter.js';
import type { ImportedFile } from '../import/import-options.js';
import { displayName } from './context.js';
import { ExitStatus } from './exit-status.js';
import type { ImportPlace, NothingToImport } from './import-places.js';
import { complain, counted, printJson, printLine, quoted } from './output.js';
import { Progress } from './progress.js';

/** Outcomes in the order of a summary. */
const ORDER = ['added', 'updated', 'merged', 'kept', 'not added', 'conflict', 'skipped', 'same'] as const;
const WIDTH = Math.max(...ORDER.map((outcome) => outcome.length));

interface Row {
  readonly harness: MemoryHarness;
  readonly file: ImportedFile;
}

/** Tells what an import does, file by file, and its exit status. */
export class ImportReport {
  readonly #json: boolean;
  readonly #rows: Row[] = [];
  readonly #progress = new Progress();
  #told = 0;
  #left = false;

  constructor(json: boolean) {
    this.#json = json;
  }

  /** Notes one file; files that are the same on both sides are counted, not listed. */
  file(harness: MemoryHarness, file: ImportedFile, done: number, total: number): void {
    this.#rows.push({ harness, file });
    if (!this.#json && file.outcome !== 'same') {
      this.#progress.clear();
      const name = quoted(displayName(harness.name, file.path));
      printLine(`${file.outcome.padEnd(WIDTH)}  ${name}${remark(file)}`);
    }
    this.show(done, total);
  }

  /** Shows how far the import is, when it takes long. */
  show(done: number, total: number): void {
    this.#progress.show(`${done} of ${counted(total, 'file')}`);
  }

  /** Ends one folder with a line that sums it up. */
  place({ title }: MemoryHarness, folder: string): void {
    this.#progress.clear();
    const rows = this.#rows.slice(this.#told);
    this.#told = this.#rows.length;
    if (this.#json) return;
    const parts = ORDER.flatMap((outcome) => {
      const count = rows.filter(({ file }) => file.outcome === outcome).length;
      return count === 0 ? [] : [outcome === 'same' ? `${count} the same` : `${count} ${outcome}`];
    });
    printLine(`${title}, ${quoted(folder)}: ${parts.join(', ') || 'no memory files'}`);
  }

  /** Says what was left out, which the status tells, too. */
  leave(text: string): void {
    complain(text);
    this.#left = true;
  }

  /** Says why there is nothing to import. */
  nothing(places: readonly (ImportPlace | NothingToImport)[]): void {
    for (const place of places) {
      const text = 'reason' in place ? place.reason : `${quoted(place.folder)} holds no memory files`;
      if (this.#json) complain(text);
      else printLine(text);
    }
  }

  end(): ExitStatus {
    if (this.#json) {
      printJson(
        this.#rows.map(({ harness, file: { path, outcome, linesLost, reason } }) => ({
          ...{ harness: harness.name, file: path, outcome, lines_lost: linesLost, reason },
        })),
      );
    }
    const left = this.#left || this.#rows.some(({ file }) => file.outcome === 'conflict' || file.outcome === 'skipped');
    return left ? ExitStatus.unsettled : ExitStatus.done;
  }
}

function remark({ outcome, linesLost, reason }: ImportedFile): string {
  if (outcome === 'conflict') return `: it ${reason}; the store's stays, and this one is kept as a version`;
  if (outcome === 'skipped') return `: it ${reason}`;
  return linesLost > 0
    ? `: ${counted(linesLost, 'line')} of it ${linesLost === 1 ? 'is' : 'are'} not in the result; the whole file is kept as a version`
    : '';
}
