import { Aligner } from './align.js';
import { isText } from './is-text.js';
import { LineTable, splitLines } from './text.js';

/**
 * Number of line changes, added and removed lines together, that explain `text` from `base`. A line whose end alone
 * differs counts as changed. Content that is not text counts 0 when it is equal, and else more than any text.
 */
export function changeCount(base: Buffer, text: Buffer): number {
  if (base.equals(text)) return 0;
  if (!isText(base) || !isText(text)) return Number.MAX_SAFE_INTEGER;
  const table = new LineTable();
  const before = splitLines(base, table, true);
  const after = splitLines(text, table, true);
  const matches = new Aligner(table.lines.length).align(before.ids, after.ids);
  const kept = matches.reduce((count, match) => (match === -1 ? count : count + 1), 0);
  const marks = before.bom === after.bom ? 0 : 1;
  return before.ids.length + after.ids.length - 2 * kept + marks;
}
