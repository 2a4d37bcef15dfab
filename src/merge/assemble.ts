import type { Piece } from './line-up.js';
import type { Text } from './text.js';

/** A part of a merged text: lines of a side, or one line (latin1) that neither has. */
export type Part = Piece | { readonly line: string };

interface Sides {
  readonly base: Text | null;
  readonly store: Text;
  readonly other: Text;
}

const mark = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Writes a merged text. Lines of the store keep their own ends; all others get the end that most lines of the store
 * have, or keep theirs when the store has none. A byte order mark and a missing last line end are there when the side
 * that changed them says so.
 */
export function assemble(parts: readonly Part[], sides: Sides): Buffer {
  const { store, other } = sides;
  const usual = usualEnd(store) ?? usualEnd(other) ?? '\n';
  const chunks: Buffer[] = [];
  for (const part of parts) {
    if ('line' in part) chunks.push(Buffer.from(part.line + endAfter(part.line.endsWith('\r'), usual), 'latin1'));
    else addLines(chunks, part, part.side === 'store' ? store : other, part.side === 'store', usual);
  }
  // Nothing is left to say about the end of a text without lines, nor of one whose last line is empty.
  const last = chunks.at(-1);
  if (last !== undefined && !threeWay(sides, hasLastEnd, true)) chunks[chunks.length - 1] = withoutEnd(last);
  if (threeWay(sides, hasMark, hasMark(store) ?? false)) chunks.unshift(mark);
  return Buffer.concat(chunks);
}

/** Adds the lines of a piece. Their own ends stay where `own` says so; a missing one and all others become `usual`. */
function addLines(chunks: Buffer[], piece: Piece, text: Text, own: boolean, usual: string): void {
  const { bytes, starts, ends } = text;
  let from = piece.from;
  const flush = (to: number) => {
    if (to > from) chunks.push(bytes.subarray(starts[from], starts[to]));
  };
  for (let line = piece.from; line < piece.to; line++) {
    const length = ends[line] ?? 0;
    if (length === usual.length || (own && length > 0)) continue;
    flush(line);
    const stop = (starts[line + 1] ?? 0) - length;
    const end = endAfter(bytes[stop - 1] === 13 && stop > (starts[line] ?? 0), usual);
    chunks.push(Buffer.concat([bytes.subarray(starts[line], stop), Buffer.from(end)]));
    from = line + 1;
  }
  flush(piece.to);
}

/** The end to write after a line. A line that ends in a CR of its own needs CRLF, or the CR would become its end. */
function endAfter(endsInReturn: boolean, usual: string): string {
  return endsInReturn ? '\r\n' : usual;
}

/** The line end that most lines of a text have; nothing for a text without any. */
function usualEnd(text: Text): string | undefined {
  const counts = [0, 0, 0];
  for (const length of text.ends) counts[length] = (counts[length] ?? 0) + 1;
  const [, feeds = 0, both = 0] = counts;
  if (feeds + both === 0) return undefined;
  return both > feeds || (both === feeds && text.ends[0] === 2) ? '\r\n' : '\n';
}

function hasLastEnd(text: Text): boolean | undefined {
  return text.ends.length === 0 ? undefined : text.ends.at(-1) !== 0;
}

function hasMark(text: Text): boolean | undefined {
  return text.bytes.length === 0 ? undefined : text.bom > 0;
}

/** What the side that changed a property makes of it; `unknown` where both sides differ and no base tells. */
function threeWay(sides: Sides, property: (text: Text) => boolean | undefined, unknown: boolean): boolean {
  const store = property(sides.store);
  const other = property(sides.other);
  if (store === undefined || other === undefined || store === other) return store ?? other ?? unknown;
  const base = sides.base === null ? undefined : property(sides.base);
  if (base === undefined) return unknown;
  return store === base ? other : store;
}

/** The last chunk of a text without its line end, unless its last line is empty. */
function withoutEnd(chunk: Buffer): Buffer {
  if (chunk.at(-1) !== 10) return chunk;
  const stop = chunk.length - (chunk.at(-2) === 13 ? 2 : 1);
  return stop === 0 || chunk[stop - 1] === 10 ? chunk : chunk.subarray(0, stop);
}
