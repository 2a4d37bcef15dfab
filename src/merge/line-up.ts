import { inverse, type Matches } from './align.js';
import type { Tools } from './join.js';
import { type Place, type PlaceLines, withoutRemoved } from './place.js';

/** Lines `from` to before `to` of one side. */
export interface Piece {
  readonly side: 'store' | 'other';
  from: number;
  to: number;
}

/**
 * Keeps the lines that both sides wrote at one place: those they share once, and between them the store's before the
 * other's, unless the other's clearly come first in the base. What stands between two texts, like a blank line, is not
 * shared by itself. `before` are the base's lines of the place.
 */
export function lineUp(storePlace: Place, otherPlace: Place, before: Int32Array, tools: Tools): Piece[] {
  const store = withoutRemoved(storePlace, otherPlace, before, tools.tallies);
  const other = withoutRemoved(otherPlace, storePlace, before, tools.tallies);
  const matches = align(new Int32Array(store.ids), new Int32Array(other.ids), tools);
  const shared = matches.reduce((count, match) => (match === -1 ? count : count + 1), 0);
  const pieces: Piece[] = [];
  // What has all the lines of the other side already stays as it is: merging again changes nothing.
  if (shared === other.ids.length) {
    add(pieces, 'store', store, 0, store.ids.length);
    return pieces;
  }
  if (shared === store.ids.length) {
    add(pieces, 'other', other, 0, other.ids.length);
    return pieces;
  }
  forgetWordless(matches, store, tools.hasWords);
  let [s, o] = [0, 0];
  matches.forEach((match, index) => {
    if (match === -1) return;
    weave(pieces, store, s, index, other, o, match);
    add(pieces, 'store', store, index, index + 1);
    [s, o] = [index + 1, match + 1];
  });
  weave(pieces, store, s, store.ids.length, other, o, other.ids.length);
  return pieces;
}

function align(store: Int32Array, other: Int32Array, { aligner, storeFirst }: Tools): Matches {
  return storeFirst ? aligner.align(store, other) : inverse(aligner.align(other, store), store.length);
}

/** Takes back matches in runs that hold no words. */
function forgetWordless(matches: Matches, store: PlaceLines, hasWords: (id: number) => boolean): void {
  for (let from = 0, to = 0; from < matches.length; from = to) {
    to = from + 1;
    const start = matches[from] ?? -1;
    if (start === -1) continue;
    let words = hasWords(store.ids[from] ?? -1);
    for (; to < matches.length && matches[to] === start + to - from; to++) words ||= hasWords(store.ids[to] ?? -1);
    if (!words) matches.fill(-1, from, to);
  }
}

/** Adds lines that the sides do not share: by their place in the base, the store's first where that does not tell. */
function weave(
  pieces: Piece[],
  store: PlaceLines,
  s: number,
  endS: number,
  other: PlaceLines,
  o: number,
  endO: number,
): void {
  let [inStore, inOther] = [s, o];
  while (inStore < endS || inOther < endO) {
    const fromOther = inStore === endS || (inOther < endO && comesFirst(other, inOther, store, inStore));
    if (fromOther) add(pieces, 'other', other, inOther, ++inOther);
    else add(pieces, 'store', store, inStore, ++inStore);
  }
}

/** Whether a line of one side stands for lines of the base before those of the other's line. */
function comesFirst(one: PlaceLines, index: number, two: PlaceLines, at: number): boolean {
  const [low, high] = [one.low[index] ?? 0, one.high[index] ?? 0];
  const [otherLow, otherHigh] = [two.low[at] ?? 0, two.high[at] ?? 0];
  return high <= otherLow && !(otherHigh <= low);
}

/** Adds lines of a place, as parts of the piece before where they go on from it. */
function add(pieces: Piece[], side: 'store' | 'other', lines: PlaceLines, from: number, to: number): void {
  for (let index = from; index < to; index++) {
    const at = lines.at[index] ?? 0;
    const last = pieces.at(-1);
    if (last?.side === side && last.to === at) last.to++;
    else pieces.push({ side, from: at, to: at + 1 });
  }
}
