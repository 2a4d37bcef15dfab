import type { Matches } from './align.js';
import type { Tally } from './tally.js';

/** Counters for the lines of a place: of the base, of the side, of the other side. Empty between calls. */
export interface Tallies {
  readonly before: Tally;
  readonly after: Tally;
  readonly theirs: Tally;
}

/** One line of a place as lists of the same length: `ids`, `at`, `low` and `high`. Plain lists: most are short. */
export interface PlaceLines {
  /** Line numbers. */
  readonly ids: number[];
  /** Where the lines stand in the side. */
  readonly at: number[];
  /** Lines of the base that a line stands for: from `low` to before `high`. */
  readonly low: number[];
  readonly high: number[];
}

/** One side's lines of a place. */
export interface Place extends PlaceLines {
  /** Whether this side differs from the base here. */
  readonly changed: boolean;
  /** Whether a line is one of the base, left as it was. */
  readonly kept: boolean[];
}

/**
 * Describes what one side made of lines `b` to before `endB` of the base: its own lines `from` to before `to`.
 * `matches` gives the side's line for each line of the base.
 */
export function place(side: Int32Array, from: number, to: number, matches: Matches, b: number, endB: number): Place {
  const lines = room(to - from);
  const kept: boolean[] = new Array(to - from);
  let changed = false;
  let low = b;
  let next = b;
  for (let at = from; at < to; at++) {
    while (next < endB && (matches[next] ?? -1) < at) next++;
    const isKept = next < endB && matches[next] === at;
    if (!isKept || next > low) changed = true;
    set(lines, at - from, side[at] ?? 0, at, isKept ? next : low, isKept ? next + 1 : next);
    kept[at - from] = isKept;
    if (isKept) low = next + 1;
  }
  return { ...lines, kept, changed: changed || low < endB };
}

/**
 * What of one side's place goes on when the other side changed it too. Lines of the base that the other side removed
 * go. What this side wrote stays; but a line of the base that it only moved within the place goes too when the other
 * side has none of it left there. A line that this side wrote once more stays in all its copies: which of them the
 * other side removed cannot be told. `removed` are the base's lines of the place.
 */
export function withoutRemoved(side: Place, otherSide: Place, removed: Int32Array, tallies: Tallies): PlaceLines {
  if (removed.length === 0) return side;
  const { before, after, theirs } = tallies;
  before.add(removed);
  after.add(side.ids);
  theirs.add(otherSide.ids);
  const stays = (index: number): boolean => {
    const id = side.ids[index] ?? 0;
    // Of a line that there is more of than in the base, this side wrote one at least.
    if (after.of(id) > before.of(id)) return true;
    return side.kept[index] === false && (theirs.of(id) > 0 || before.of(id) === 0);
  };
  const staying: number[] = [];
  for (let index = 0; index < side.ids.length; index++) if (stays(index)) staying.push(index);
  const lines = room(staying.length);
  staying.forEach((from, to) => {
    set(lines, to, side.ids[from] ?? 0, side.at[from] ?? 0, side.low[from] ?? 0, side.high[from] ?? 0);
  });
  before.clear(removed);
  after.clear(side.ids);
  theirs.clear(otherSide.ids);
  return lines;
}

function room(length: number): PlaceLines {
  return { ids: new Array(length), at: new Array(length), low: new Array(length), high: new Array(length) };
}

function set(lines: PlaceLines, index: number, id: number, at: number, low: number, high: number): void {
  lines.ids[index] = id;
  lines.at[index] = at;
  lines.low[index] = low;
  lines.high[index] = high;
}
