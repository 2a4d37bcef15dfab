import type { Span } from '../store/text-index.js';
import { coloured, graphemes, visible, width } from './output.js';

/** Columns shown before the first find when a line has to be cut. */
const LEAD = 30;
/** UTF-16 units that the widest characters take for each column, and more. */
const UNITS = 12;

/**
 * One line of a text for people: what was found in it is coloured on a terminal, and what a terminal would obey is made
 * visible. A line that takes more columns than there are is cut on both sides of the first find.
 */
export function excerpt(line: string, spans: readonly Span[], columns: number): string {
  const first = spans[0]?.from ?? 0;
  // A character takes at least a quarter of a column for each unit, so a line of that length may still fit.
  const fits = line.length <= columns * UNITS && width(shownAs(line)) <= columns;
  const from = fits || first <= LEAD ? 0 : first - LEAD;
  const room = fits ? columns : columns - (from > 0 ? 2 : 1);
  const near = spans.filter((span) => span.to > from && span.from < from + columns * UNITS);
  const runs: { text: string; found: boolean }[] = [];
  let used = 0;
  let at = from;
  for (const { segment, index } of charactersOf(line.slice(from, from + columns * UNITS))) {
    at = from + index;
    // The first one may be the rest of a character that was cut apart.
    if (from > 0 && index === 0) continue;
    const text = shownAs(segment);
    used += width(text);
    if (used > room) break;
    const found = near.some((span) => span.from <= at && at < span.to);
    const last = runs.at(-1);
    if (last?.found === found) last.text += text;
    else runs.push({ text, found });
    at += segment.length;
  }
  const text = runs.map((run) => (run.found ? coloured('red', run.text) : run.text)).join('');
  return `${from > 0 ? '…' : ''}${text}${at < line.length ? '…' : ''}`;
}

/** The characters of a line; telling them apart takes long where they are not plain. */
function* charactersOf(line: string): Iterable<{ readonly segment: string; readonly index: number }> {
  if (/[^\t -~]/.test(line)) yield* graphemes(line);
  else for (let index = 0; index < line.length; index++) yield { segment: line[index] ?? '', index };
}

function shownAs(text: string): string {
  return visible(text.replaceAll('\t', ' '));
}
