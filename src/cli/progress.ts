/** How long, in ms, something may take before its progress is shown. */
const PATIENCE = 1000;
/** Least time, in ms, between two steps that are shown. */
const STEP = 100;

/** A line of progress at the end of a terminal, for work that takes longer than a second. Shows nothing elsewhere. */
export class Progress {
  readonly #out: NodeJS.WriteStream;
  #next: number;
  #shown = false;

  constructor(out: NodeJS.WriteStream = process.stderr) {
    this.#out = out;
    this.#next = Date.now() + PATIENCE;
  }

  /** @param text one line, without anything that a terminal obeys */
  show(text: string): void {
    if (!this.#out.isTTY || Date.now() < this.#next) return;
    this.#next = Date.now() + STEP;
    this.#shown = true;
    this.#out.write(`\r\x1b[K${text.slice(0, this.#out.columns - 1)}`);
  }

  /** Takes the line away, before other output. */
  clear(): void {
    if (this.#shown) this.#out.write('\r\x1b[K');
    this.#shown = false;
  }
}
