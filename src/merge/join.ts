import type { Aligner, Matches } from './align.js';
import { type Alignment, alignThree } from './align-three.js';
import { lineUp, type Piece } from './line-up.js';
import { place, type Tallies } from './place.js';

/** What a merge of lines needs besides the lines. */
export interface Tools {
  readonly aligner: Aligner;
  readonly tallies: Tallies;
  /** Whether the line of a number holds more than blanks and signs. */
  readonly hasWords: (id: number) => boolean;
  /** Which side is looked at first where that could matter; not which comes first. Makes merging symmetric. */
  readonly storeFirst: boolean;
}

/** What both sides make of a base, as pieces in order. */
export interface Joined {
  readonly pieces: Piece[];
  /** False when both changed one place. */
  readonly clean: boolean;
}

/** Three sequences of line numbers. */
interface Sequences {
  readonly base: Int32Array;
  readonly store: Int32Array;
  readonly other: Int32Array;
}

/**
 * Merges two sequences of line numbers by their base (diff3). Lines that all three have in common divide the texts
 * into places. Where one side changed a place, its lines stand; where both did, `lineUp` keeps the lines of both.
 * Where equal lines can be aligned in several ways, that one is taken which keeps most lines in common, then the one
 * that writes the fewest lines, then one without a place that both changed.
 */
export function join(sequences: Sequences, tools: Tools): Joined {
  const { base, store, other } = sequences;
  const [one, two] = tools.storeFirst ? [store, other] : [other, store];
  const ways = alignThree(base, one, two, tools.aligner);
  const most = Math.max(...ways.map(countCommon));
  const [first, ...more] = ways
    .filter((way) => countCommon(way) === most)
    .map(({ inOne, inTwo }) =>
      tools.storeFirst ? joinAligned(sequences, inOne, inTwo, tools) : joinAligned(sequences, inTwo, inOne, tools),
    );
  if (first === undefined) throw new Error('there is always one way to align');
  return more.reduce((best, way) => (better(way, best) ? way : best), first);
}

function countCommon({ inOne, inTwo }: Alignment): number {
  let common = 0;
  for (let line = 0; line < inOne.length; line++) if (inOne[line] !== -1 && inTwo[line] !== -1) common++;
  return common;
}

function better(one: Joined, other: Joined): boolean {
  const [length, otherLength] = [lengthOf(one.pieces), lengthOf(other.pieces)];
  return length < otherLength || (length === otherLength && one.clean && !other.clean);
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { from, to }) => sum + to - from, 0);
}

function joinAligned(sequences: Sequences, inStore: Matches, inOther: Matches, tools: Tools): Joined {
  const { base, store, other } = sequences;
  const pieces: Piece[] = [];
  let clean = true;
  let [b, s, o] = [0, 0, 0];
  while (b < base.length || s < store.length || o < other.length) {
    let same = 0;
    while (b + same < base.length && inStore[b + same] === s + same && inOther[b + same] === o + same) same++;
    if (same > 0) {
      pieces.push({ side: 'store', from: s, to: s + same });
      [b, s, o] = [b + same, s + same, o + same];
      continue;
    }
    let end = b;
    while (end < base.length && (inStore[end] === -1 || inOther[end] === -1)) end++;
    const endStore = inStore[end] ?? store.length;
    const endOther = inOther[end] ?? other.length;
    const storeLines = place(store, s, endStore, inStore, b, end);
    const otherLines = place(other, o, endOther, inOther, b, end);
    if (!storeLines.changed) pieces.push({ side: 'other', from: o, to: endOther });
    else if (!otherLines.changed || equal(storeLines.ids, otherLines.ids)) {
      pieces.push({ side: 'store', from: s, to: endStore });
    } else {
      clean = false;
      for (const piece of lineUp(storeLines, otherLines, base.subarray(b, end), tools)) pieces.push(piece);
    }
    [b, s, o] = [end, endStore, endOther];
  }
  return { pieces, clean };
}

function equal(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index]);
}
