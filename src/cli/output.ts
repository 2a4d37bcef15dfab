import { styleText } from 'node:util';
import { printable } from '../project/printable.js';
import { clearProgress } from './progress.js';

/** Prints one JSON document. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A hint, warning or error: goes to standard error, on one line whatever is named in it. */
export function complain(text: string): void {
  clearProgress();
  process.stderr.write(`mend: ${printable(text)}\n`);
}

/** Complains of each thing once: what keeps one folder from being mounted often keeps others, too. */
export function complainOnce(): (text: string) => void {
  const said = new Set<string>();
  return (text) => {
    if (!said.has(text)) complain(text);
    said.add(text);
  };
}

/** Prints rows in aligned columns, two blanks apart; columns named in `right` are set to the right. */
export function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): void {
  const lines = [head, ...rows];
  const widths = head.map((_, column) =>
    Math.max(...lines.map((line) => width(line[column] ?? '')).filter((cell) => cell <= WIDEST), 0),
  );
  for (const line of lines) {
    const cells = line.map((cell, column) => {
      const blanks = ' '.repeat(Math.max(0, (widths[column] ?? 0) - width(cell)));
      return right.includes(column) ? blanks + cell : cell + blanks;
    });
    printLine(cells.join('  ').trimEnd());
  }
}

/** Columns up to which a cell sets the width of its column; a longer one shifts its own line alone. */
const WIDEST = 80;

/** Columns a text takes on a terminal: one a character, none for marks that go with one, two for wide ones. */
export function width(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes(text)) columns += graphemeWidth(segment);
  return columns;
}

function graphemeWidth(segment: string): number {
  if (EMOJI.test(segment)) return 2;
  let columns = 0;
  for (const c of segment) columns += UNSPACING.test(c) ? 0 : WIDE.test(c) ? 2 : 1;
  return columns;
}

/** The characters of a text as a person counts them. */
export function graphemes(text: string): Iterable<Intl.SegmentData> {
  return segments.segment(text);
}

const segments = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Of several that are joined to one, the first tells. */
const EMOJI = /^(?:\p{Emoji_Presentation}|\p{Emoji}\ufe0f)/u;
const UNSPACING = /[\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}\u1160-\u11ff\ud7b0-\ud7ff]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

/** A file's name for people: as it is when it is plain, else quoted, with nothing in it that a terminal would obey. */
export function quoted(name: string): string {
  if (/^[^\s"'\\]+$/u.test(name) && !UNSEEN.test(name)) return name;
  return JSON.stringify(name).replace(
    new RegExp(UNSEEN, 'gu'),
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Control characters, line separators, those that turn the direction of writing, and others that take no room. */
const UNSEEN =
  /[\p{Cc}\u00ad\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufff8]/u;

/** Whether a name has what a person does not see, or a terminal obeys. */
export function hasUnseen(name: string): boolean {
  return UNSEEN.test(name);
}

/** Local date and time, to the minute. */
export function localTime(micros: number): string {
  const at = new Date(micros / 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** A number of bytes as people say it: `17 bytes`, `34 KB`, `1.5 MB`, `2 GB`; a part of a KB counts as one. */
export function sized(bytes: number): string {
  if (bytes < 1024) return counted(bytes, 'byte');
  if (bytes < 1024 ** 2) return `${Math.ceil(bytes / 1024)} KB`;
  if (bytes < 1024 ** 3) return `${Number((bytes / 1024 ** 2).toFixed(1))} MB`;
  return `${Number((bytes / 1024 ** 3).toFixed(1))} GB`;
}

/** A count with its noun. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Time in ISO 8601 with milliseconds, for scripts. */
export function isoTime(micros: number): string {
  return new Date(micros / 1000).toISOString();
}

/** Prints memory: to a terminal with what it would obey made visible, else as the bytes are. */
export async function printContent(bytes: Buffer): Promise<void> {
  const shown = process.stdout.isTTY ? visible(bytes.toString().replaceAll('\r\n', '\n')) : bytes;
  await new Promise<void>((resolve, reject) =>
    process.stdout.write(shown, (error) => (error ? reject(error) : resolve())),
  );
}

/** Text with nothing in it that a terminal would obey but ends of lines and tabs: `^[` in the place of an escape. */
export function visible(text: string): string {
  return text.replace(DRIVING, (c) => {
    const code = c.charCodeAt(0);
    if (code < 0x20) return `^${String.fromCharCode(code + 0x40)}`;
    if (code === 0x7f) return '^?';
    return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
  });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
const DRIVING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Colours a text on a terminal that has colours, and never with NO_COLOR, whatever FORCE_COLOR says. */
export function coloured(format: 'bold' | 'red' | 'green' | 'cyan' | 'yellow', text: string): string {
  if (process.env['NO_COLOR'] || !process.stdout.isTTY || !process.stdout.hasColors()) return text;
  return styleText(format, text);
}
