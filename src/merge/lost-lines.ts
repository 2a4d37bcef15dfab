import type { Part } from './assemble.js';
import type { LineTable, Text } from './text.js';

/** Counts how often each line stands in a text. */
function counts(ids: Iterable<number>, size: number): Int32Array {
  const result = new Int32Array(size);
  for (const id of ids) result[id] = (result[id] ?? 0) + 1;
  return result;
}

/** Counts how often each line stands in a merged text. */
export function countMerged(parts: readonly Part[], store: Text, other: Text, table: LineTable): Int32Array {
  const fresh = parts.map((part) => ('line' in part ? table.number(part.line) : -1));
  const result = new Int32Array(table.lines.length);
  parts.forEach((part, index) => {
    if ('line' in part) result[fresh[index] ?? 0] = (result[fresh[index] ?? 0] ?? 0) + 1;
    else {
      const ids = (part.side === 'store' ? store : other).ids;
      for (let at = part.from; at < part.to; at++) result[ids[at] ?? 0] = (result[ids[at] ?? 0] ?? 0) + 1;
    }
  });
  return result;
}

/**
 * Counts the lines that a side added to the base, a line as often as it has it more, and that the result lacks.
 * `settled` are places in the side of lines that the result holds in another form.
 */
export function countLost(base: Text | null, side: Text, settled: readonly number[], merged: Int32Array): number {
  const before = counts(base?.ids ?? [], merged.length);
  const after = counts(side.ids, merged.length);
  const excused = counts(
    settled.map((at) => side.ids[at] ?? 0),
    merged.length,
  );
  let lost = 0;
  for (let id = 0; id < merged.length; id++) {
    const missing = (after[id] ?? 0) - (before[id] ?? 0) - (merged[id] ?? 0) - (excused[id] ?? 0);
    if (missing > 0) lost += missing;
  }
  return lost;
}
