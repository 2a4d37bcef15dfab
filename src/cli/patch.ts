import { isUtf8 } from 'node:buffer';
import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatch, structuredPatch } from 'diff';
import { coloured, visible } from './output.js';

/** One side of a comparison; undefined bytes stand for a file that is not there. */
export interface Side {
  readonly bytes: Buffer | undefined;
  /** Which version it is. */
  readonly label: string;
}

/** Lines of difference from which on one text counts as replaced by the other: finding the fewest takes a second then. */
const MOST_EDITS = 2000;

/** Lines shown around a change. */
const CONTEXT = 3;

/**
 * A unified patch of two contents of a file, for standard output: coloured and with control characters made visible on a
 * terminal, else fit for patch(1). One sentence where a content is not text; empty when both are the same.
 */
export function patchText(file: string, before: Side, after: Side): string {
  const [from = EMPTY, to = EMPTY] = [before.bytes, after.bytes];
  if (from.equals(to)) return '';
  if (!isText(from) || !isText(to)) return `${before.label} and ${after.label} of ${file} differ, and are not text\n`;
  const patch = compare(from.toString(), to.toString());
  const names = { oldFileName: nameOf('a', file, before), newFileName: nameOf('b', file, after) };
  const labels = { oldHeader: labelOf(before), newHeader: labelOf(after) };
  const text = formatPatch({ ...patch, ...names, ...labels }, FILE_HEADERS_ONLY);
  return process.stdout.isTTY ? forTerminal(text) : text;
}

const EMPTY = Buffer.alloc(0);

function nameOf(prefix: string, file: string, { bytes }: Side): string {
  return bytes ? `${prefix}/${file}` : '/dev/null';
}

function labelOf({ bytes, label }: Side): string | undefined {
  return bytes ? label : undefined;
}

function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

function compare(from: string, to: string): StructuredPatch {
  const found = structuredPatch('', '', from, to, undefined, undefined, {
    context: CONTEXT,
    maxEditLength: MOST_EDITS,
  });
  if (found) return found;
  const removed = structuredPatch('', '', from, '');
  const added = structuredPatch('', '', '', to);
  const [minus, plus] = [removed.hunks[0], added.hunks[0]];
  if (!minus || !plus) throw new Error('a text that differs from nothing has a hunk');
  const { oldStart, oldLines } = minus;
  const { newStart, newLines } = plus;
  const hunk = { oldStart, oldLines, newStart, newLines, lines: [...minus.lines, ...plus.lines] };
  return { ...removed, hunks: [hunk] };
}

function forTerminal(text: string): string {
  const lines = text.replace(/\n$/, '').split('\n');
  return lines.map((line, i) => `${colourOf(visible(line), i < 2)}\n`).join('');
}

function colourOf(line: string, heads: boolean): string {
  if (heads) return coloured('bold', line);
  if (line.startsWith('@@')) return coloured('cyan', line);
  if (line.startsWith('+')) return coloured('green', line);
  return line.startsWith('-') ? coloured('red', line) : line;
}
