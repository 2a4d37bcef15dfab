/** A text as lines. A line end is LF or CRLF and no part of its line; a lone CR is. */
export interface Text {
  readonly bytes: Buffer;
  /** Bytes before the first line: 3 for a byte order mark, else 0. */
  readonly bom: number;
  /** Which line stands where: the same number for the same bytes. */
  readonly ids: Int32Array;
  /** Offset of each line, and at last the length of the text. */
  readonly starts: Int32Array;
  /** Length of each line's end: 1 for LF, 2 for CRLF, 0 for a last line without. */
  readonly ends: Uint8Array;
}

/** Numbers for lines, shared by all texts of one merge. Lines are held as one character a byte (latin1). */
export class LineTable {
  readonly lines: string[] = [];
  readonly #numbers = new Map<string, number>();

  number(line: string): number {
    const known = this.#numbers.get(line);
    if (known !== undefined) return known;
    this.#numbers.set(line, this.lines.length);
    return this.lines.push(line) - 1;
  }

  line(id: number): string {
    return this.lines[id] ?? '';
  }
}

/** Cuts bytes into lines. With `endsCount`, lines that differ in their end alone get different numbers. */
export function splitLines(bytes: Buffer, table: LineTable, endsCount = false): Text {
  const bom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const count = countLines(bytes, bom);
  const ids = new Int32Array(count);
  const starts = new Int32Array(count + 1);
  const ends = new Uint8Array(count);
  const all = bytes.toString('latin1');
  let start = bom;
  for (let line = 0; line < count; line++) {
    const feed = all.indexOf('\n', start);
    const next = feed === -1 ? bytes.length : feed + 1;
    const end = feed === -1 ? 0 : feed > start && bytes[feed - 1] === 13 ? 2 : 1;
    ids[line] = table.number(all.slice(start, endsCount ? next : next - end));
    starts[line] = start;
    ends[line] = end;
    start = next;
  }
  starts[count] = bytes.length;
  return { bytes, bom, ids, starts, ends };
}

function countLines(bytes: Buffer, from: number): number {
  let feeds = 0;
  for (let index = from; index < bytes.length; index++) if (bytes[index] === 10) feeds++;
  return bytes.length > from && bytes[bytes.length - 1] !== 10 ? feeds + 1 : feeds;
}

/** Tells whether a line holds a letter or a digit; bytes beyond ASCII count as letters. */
export function hasWords(line: string): boolean {
  return /[0-9A-Za-z\x80-\xff]/.test(line);
}
