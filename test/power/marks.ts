import type { Entry } from './record.js';

/**
 * What somebody said in the file of marks, between two calls of the store. A worker does one thing after the other:
 * `put` says what its files hold once step `step` is done (SHA-256, null for gone); `done` that the call returned; `synced`
 * that all steps up to that one were flushed. `writes` and `kept` say the same of the lines of a file that stays open.
 * `purged` is a word that must be in no file of the store from then on.
 */
export type Mark = { readonly by: string } & (
  | { readonly step: number; readonly put: Readonly<Record<string, string | null>> }
  | { readonly done: number }
  | { readonly synced: number }
  | { readonly writes: number; readonly file: string }
  | { readonly kept: number; readonly file: string }
  | { readonly purged: string }
);

interface Step {
  readonly put: ReadonlyMap<string, string | null>;
  readonly begun: number;
  done: number;
}

/** What one worker has said up to some entry of the record. */
export class Worker {
  readonly steps: Step[] = [];
  /** Steps that are on the disk for sure. */
  synced = 0;
  readonly files = new Set<string>();
}

/** All that was said up to some entry of the record. */
export class Marks {
  readonly workers = new Map<string, Worker>();
  readonly held = new Map<string, { writes: number; kept: number }>();
  readonly purged: string[] = [];
  #rest = '';

  /** @param index of the entry in the record */
  hear({ op, data }: Entry, index: number): void {
    if (op !== 'write' || !data) return;
    const lines = `${this.#rest}${data.toString('utf8')}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#add(JSON.parse(line) as Mark, index);
  }

  #add(mark: Mark, index: number): void {
    if ('purged' in mark) this.purged.push(mark.purged);
    else if ('file' in mark) {
      const held = this.held.get(mark.file) ?? { writes: 0, kept: 0 };
      this.held.set(mark.file, held);
      if ('writes' in mark) held.writes = mark.writes;
      else held.kept = mark.kept;
    } else this.#step(mark, index);
  }

  #step(mark: Exclude<Mark, { purged: string } | { file: string }>, index: number): void {
    const worker = this.workers.get(mark.by) ?? new Worker();
    this.workers.set(mark.by, worker);
    if ('step' in mark) {
      if (mark.step !== worker.steps.length + 1) throw new Error(`${mark.by} took step ${mark.step} out of turn`);
      worker.steps.push({ put: new Map(Object.entries(mark.put)), begun: index, done: Number.POSITIVE_INFINITY });
      for (const file of Object.keys(mark.put)) worker.files.add(file);
    } else if ('done' in mark) {
      const step = worker.steps[mark.done - 1];
      if (!step) throw new Error(`${mark.by} did step ${mark.done} before it began`);
      step.done = index;
    } else worker.synced = Math.max(worker.synced, mark.synced);
  }
}
