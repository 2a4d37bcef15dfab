import { exactMatches } from './exact-matches.js';
import { type Places, uniqueMatches } from './unique-matches.js';
import { Work } from './work.js';

/** For each line of the first sequence the index of the same line in the second, or -1. */
export type Matches = Int32Array;

/** Indices of the lines that are looked at. */
interface Part {
  readonly a: Int32Array;
  readonly b: Int32Array;
}

/** Finds the lines that two sequences of line numbers share, in order. One is made for each merge. */
export class Aligner {
  readonly work = new Work();
  /** One mark for each line number; all zero between calls. */
  readonly #marks: Uint8Array;
  readonly #places: Places;

  /** `lines` is the number of different lines. */
  constructor(lines: number) {
    this.#marks = new Uint8Array(lines);
    this.#places = { a: new Int32Array(lines), b: new Int32Array(lines) };
  }

  /**
   * Finds which lines of `a` are still there in `b`: a longest common subsequence where that can be had within bounds
   * (`work.ts`), else what the lines that both have exactly once tell.
   */
  align(a: Int32Array, b: Int32Array): Matches {
    const matches = new Int32Array(a.length).fill(-1);
    const middle = trimEnds(a, b, matches);
    if (middle === undefined || matchSingle(middle, a, b, matches)) return matches;
    const pending = [middle];
    for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
      const rest = this.#reduce(part, a, b, matches);
      if (rest === undefined) continue;
      const left = rest.a.map((line) => a[line] ?? -1);
      const right = rest.b.map((line) => b[line] ?? -1);
      const exact = exactMatches(left, right, this.work);
      const found = exact ?? uniqueMatches(left, right, this.#places);
      let [fromA, fromB] = [0, 0];
      for (const [inA, inB] of found) {
        matches[rest.a[inA] ?? 0] = rest.b[inB] ?? -1;
        if (exact === undefined) pending.push({ a: rest.a.subarray(fromA, inA), b: rest.b.subarray(fromB, inB) });
        [fromA, fromB] = [inA + 1, inB + 1];
      }
      if (exact === undefined && found.length > 0) {
        pending.push({ a: rest.a.subarray(fromA), b: rest.b.subarray(fromB) });
      }
    }
    return matches;
  }

  /** Matches head and tail and sets aside what only one side has; what is left, if that may still be looked at. */
  #reduce(part: Part, a: Int32Array, b: Int32Array, matches: Matches): Part | undefined {
    const core = trim(part, a, b, matches);
    if (core.a.length === 0 || core.b.length === 0) return undefined;
    const visits = core.a.length + core.b.length;
    if (visits > this.work.visits) return undefined;
    this.work.visits -= visits;
    const rest = trim(this.#withoutLonely(core, a, b), a, b, matches);
    return rest.a.length === 0 || rest.b.length === 0 ? undefined : rest;
  }

  #withoutLonely(part: Part, a: Int32Array, b: Int32Array): Part {
    const marks = this.#marks;
    for (let index = 0; index < part.a.length; index++) marks[a[part.a[index] ?? 0] ?? 0] = 1;
    const keptB = marked(part.b, b, marks, 1);
    for (let index = 0; index < keptB.length; index++) marks[b[keptB[index] ?? 0] ?? 0] = 2;
    const keptA = marked(part.a, a, marks, 2);
    for (let index = 0; index < part.a.length; index++) marks[a[part.a[index] ?? 0] ?? 0] = 0;
    return { a: keptA, b: keptB };
  }
}

/** The indices of lines that bear a mark. */
function marked(part: Int32Array, lines: Int32Array, marks: Uint8Array, mark: number): Int32Array {
  const kept = new Int32Array(part.length);
  let count = 0;
  for (let index = 0; index < part.length; index++) {
    const line = part[index] ?? 0;
    if ((marks[lines[line] ?? 0] ?? 0) >= mark) kept[count++] = line;
  }
  return kept.subarray(0, count);
}

/** Matches the common head and tail of two whole sequences; what lies between, if both have any of it. */
function trimEnds(a: Int32Array, b: Int32Array, matches: Matches): Part | undefined {
  let from = 0;
  let [endA, endB] = [a.length, b.length];
  while (from < endA && from < endB && a[from] === b[from]) matches[from] = from++;
  while (endA > from && endB > from && a[endA - 1] === b[endB - 1]) matches[--endA] = --endB;
  return from === endA || from === endB ? undefined : { a: indices(from, endA), b: indices(from, endB) };
}

/** Matches the only line of a part. False when both sequences have more; a shortcut for the many small places. */
function matchSingle(part: Part, a: Int32Array, b: Int32Array, matches: Matches): boolean {
  if (part.a.length > 1 && part.b.length > 1) return false;
  const inA = part.b.length === 1 ? part.a.find((line) => a[line] === b[part.b[0] ?? -1]) : part.a[0];
  const inB = part.a.length === 1 ? part.b.find((line) => b[line] === a[part.a[0] ?? -1]) : part.b[0];
  if (inA !== undefined && inB !== undefined) matches[inA] = inB;
  return true;
}

function indices(from: number, to: number): Int32Array {
  const all = new Int32Array(to - from);
  for (let index = from; index < to; index++) all[index - from] = index;
  return all;
}

/** Matches the common head and tail of a part; returns what lies between. */
function trim(part: Part, a: Int32Array, b: Int32Array, matches: Matches): Part {
  let from = 0;
  let [endA, endB] = [part.a.length, part.b.length];
  while (from < endA && from < endB && a[part.a[from] ?? -1] === b[part.b[from] ?? -1]) {
    matches[part.a[from] ?? 0] = part.b[from] ?? -1;
    from++;
  }
  while (endA > from && endB > from && a[part.a[endA - 1] ?? -1] === b[part.b[endB - 1] ?? -1]) {
    endA--;
    endB--;
    matches[part.a[endA] ?? 0] = part.b[endB] ?? -1;
  }
  return { a: part.a.subarray(from, endA), b: part.b.subarray(from, endB) };
}

/** The same matches seen from the second sequence, which has `length` lines. */
export function inverse(matches: Matches, length: number): Matches {
  const result = new Int32Array(length).fill(-1);
  for (let index = 0; index < matches.length; index++) {
    const match = matches[index] ?? -1;
    if (match !== -1) result[match] = index;
  }
  return result;
}
