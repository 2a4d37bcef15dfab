/** How long, in ms, something may take before its progress is shown. */
const PATIENCE = 1000;
/** Least time, in ms, between two steps that are shown. */
const STEP = 100;
/** Columns of a terminal that does not say how many it has. */
const COLUMNS = 80;

/**
 * A line of progress at the end of a terminal, for work that takes longer than a second. Shows nothing elsewhere. What
 * is to be shown before its time is shown when that comes, unless something else is said first.
 */
export class Progress {
  readonly #out: NodeJS.WriteStream;
  #next: number;
  #shown = false;
  #text = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(out: NodeJS.WriteStream = process.stderr) {
    this.#out = out;
    this.#next = Date.now() + PATIENCE;
    lines.add(this);
  }

  /** @param text one line, without anything that a terminal obeys */
  show(text: string): void {
    if (!this.#out.isTTY) return;
    this.#text = text;
    const wait = this.#next - Date.now();
    if (wait <= 0) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), wait).unref();
  }

  /** Takes the line away, before other output. */
  clear(): void {
    this.#cancel();
    if (this.#shown) this.#out.write('\r\x1b[K');
    this.#shown = false;
  }

  #write(): void {
    this.#cancel();
    this.#next = Date.now() + STEP;
    this.#shown = true;
    this.#out.write(`\r\x1b[K${this.#text.slice(0, (this.#out.columns || COLUMNS) - 1)}`);
  }

  #cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

const lines = new Set<Progress>();

/** Takes every line of progress away, before what cannot wait. */
export function clearProgress(): void {
  for (const line of lines) line.clear();
}
