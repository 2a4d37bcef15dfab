import type { ImportedFile } from '../../import/import-options.js';
import { ExitStatus } from '../exit-status.js';
import { complain, counted, printJson, printLine, quoted } from '../output.js';
import type { CreditResult } from './credit-worktree.js';
import { uncreditedLine } from './uncredited.js';

/** Outcomes in the order of a summary. */
const ORDER = ['credited', 'not credited', 'passed over', 'skipped', 'failed'] as const;
const FILES = ['added', 'updated', 'merged', 'kept', 'not added', 'conflict', 'same', 'skipped'] as const;
const WIDTH = Math.max(...ORDER.map((outcome) => outcome.length));

/** Tells what became of each reading, and the exit status. */
export class CreditReport {
  readonly #json: boolean;
  readonly #results: CreditResult[] = [];

  constructor(json: boolean) {
    this.#json = json;
  }

  add(result: CreditResult): void {
    this.#results.push(result);
    if (this.#json) return;
    const { reading, worktree, outcome, files } = result;
    const what = `${quoted(reading.id)} (${reading.harness.name}, worktree ${quoted(worktree)})`;
    printLine(`${outcome.padEnd(WIDTH)}  ${what}${sentence(result)}`);
    for (const { path, outcome: one, reason } of files)
      if (one === 'skipped') printLine(`${' '.repeat(WIDTH)}  left out ${quoted(path)}: it ${reason}`);
  }

  end(): ExitStatus {
    const of = (outcome: CreditResult['outcome']) => this.#results.filter((one) => one.outcome === outcome);
    const uncredited = this.#results.reduce((sum, one) => sum + (one.uncredited ?? 0), 0);
    if (this.#json) printJson({ readings: this.#results.map(jsonOf), uncredited });
    else {
      const parts = ORDER.flatMap((outcome) => {
        const { length } = of(outcome);
        return length === 0 ? [] : [`${length} ${outcome}`];
      });
      printLine(`${counted(this.#results.length, 'reading')}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`);
      if (uncredited > 0) printLine(uncreditedLine(uncredited));
    }
    const failed = of('failed').length;
    if (failed > 0) {
      const count = counted(failed, 'reading');
      complain(`${count} could not be credited: mend what is named, and run the command again`);
    }
    const isGiven = ({ outcome }: ImportedFile) => outcome !== 'skipped';
    const isNobody = !this.#results.some(({ files }) => files.some(isGiven));
    if (failed > 0 && failed === this.#results.length && isNobody) return ExitStatus.failed;
    const isLeft = ({ outcome }: ImportedFile) => outcome === 'skipped' || outcome === 'conflict';
    return failed > 0 || this.#results.some(({ files }) => files.some(isLeft)) ? ExitStatus.unsettled : ExitStatus.done;
  }
}

function sentence(result: CreditResult): string {
  const { outcome, person, reason, isProvisional, before, uncredited, files } = result;
  const again = isProvisional ? '; it is provisional, and is read again later' : '';
  const stays =
    before > 0
      ? `; ${counted(before, 'file')} of it ${before === 1 ? 'was' : 'were'} credited before, and ${before === 1 ? 'stays' : 'stay'} where that was`
      : '';
  switch (outcome) {
    case 'credited':
      return ` to ${quoted(person ?? '')}: ${summary(files)}, as ${reason}${stays}${again}`;
    case 'not credited':
      return `: ${counted(uncredited ?? 0, 'file')} kept where ${uncredited === 1 ? 'it is' : 'they are'}, as ${reason}${stays}${again}`;
    case 'failed':
      return `${person === null ? '' : ` to ${quoted(person)}`}: ${reason}`;
    case 'passed over':
    case 'skipped':
      return `: ${reason}`;
  }
}

function summary(files: readonly ImportedFile[]): string {
  const parts = FILES.flatMap((outcome) => {
    const { length } = files.filter((file) => file.outcome === outcome);
    if (length === 0) return [];
    return [outcome === 'same' ? `${length} the same` : `${length} ${outcome === 'skipped' ? 'left out' : outcome}`];
  });
  return parts.join(', ') || 'no files';
}

function jsonOf(result: CreditResult) {
  const { reading, worktree, outcome, person, reason, isProvisional, before, uncredited, files } = result;
  const counts = FILES.map((one) => [one, files.filter((file) => file.outcome === one).length] as const);
  return {
    ...{
      reading: reading.id,
      worktree,
      harness: reading.harness.name,
      outcome,
      provisional: isProvisional,
      person,
      reason,
    },
    outcomes: Object.fromEntries(counts.filter(([, count]) => count > 0)),
    left_out: files.flatMap(({ path, outcome: one, reason: why }) =>
      one === 'skipped' ? [{ file: path, reason: why }] : [],
    ),
    credited_before: before,
    uncredited,
  };
}
