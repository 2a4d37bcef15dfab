/** A bash command line up to the cursor, as far as it can be told without running anything. */
export interface BashLine {
  /** Words before the one at the cursor, without their quotes. */
  readonly words: readonly string[];
  /** The word at the cursor, without its quotes. */
  readonly current: string;
  /** The quote that is open at the cursor. */
  readonly quote: '"' | "'" | '';
  /** Characters of `current` that readline keeps as they are: it completes only what comes after them. */
  readonly kept: number;
}

/**
 * Takes a bash command line apart (bash(1), QUOTING).
 * @param breaks value of COMP_WORDBREAKS: readline's words begin after these, bash's only after blanks
 */
export function readBashLine(line: string, breaks: string): BashLine {
  const words: string[] = [];
  let current = '';
  let began = false;
  let quote: BashLine['quote'] = '';
  let kept = 0;
  for (let at = 0; at < line.length; at++) {
    const c = line[at] as string;
    if (quote === '' && (c === ' ' || c === '\t' || c === '\n')) {
      if (began) words.push(current);
      [current, began, kept] = ['', false, 0];
      continue;
    }
    began = true;
    if (c === quote) {
      quote = '';
    } else if (quote === '' && (c === '"' || c === "'")) {
      quote = c;
      kept = current.length;
    } else if (c === '\\' && quote !== "'" && (quote === '' || /["\\$`]/.test(line[at + 1] ?? ''))) {
      current += line[++at] ?? '';
    } else {
      current += c;
      if (quote === '' && breaks.includes(c)) kept = current.length;
    }
  }
  return { words, current, quote, kept };
}

/** Quotes a text so that bash reads it as it is, within the quote that is open. */
export function quoteForBash(text: string, quote: BashLine['quote']): string {
  if (quote === '"') return text.replace(/["\\$`]/g, '\\$&');
  if (quote === "'") return text.replaceAll("'", "'\\''");
  return text.replace(/[^\p{L}\p{N}\p{M}_./:=@%+,-]/gu, '\\$&');
}
