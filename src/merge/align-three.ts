import { type Aligner, inverse, type Matches } from './align.js';

/** The lines of the base that are still there in each of two sides. */
export interface Alignment {
  readonly inOne: Matches;
  readonly inTwo: Matches;
}

/** Lines of all three texts up to which other ways to align them are looked for. */
const mostLines = 100_000;

/**
 * Aligns two sides with their base, in up to three ways. Of several equal lines a diff of two texts picks any; if it
 * picks one copy for the first side and another for the second, each side seems to have removed what the other kept.
 * So each side is also aligned by way of the other, unless that takes too long.
 */
export function alignThree(base: Int32Array, one: Int32Array, two: Int32Array, aligner: Aligner): Alignment[] {
  const inOne = aligner.align(base, one);
  const inTwo = aligner.align(base, two);
  const direct = { inOne, inTwo };
  const lines = base.length + one.length + two.length;
  if (lines > mostLines || aligner.work.comparisons === 0) return [direct];
  const across = aligner.align(one, two);
  const oneByTwo = byWay(base, one, inTwo, inverse(across, two.length), aligner);
  const twoByOne = byWay(base, two, inOne, across, aligner);
  const ways: Alignment[] = [direct];
  if (keepsAll(oneByTwo, inOne)) ways.push({ inOne: oneByTwo, inTwo });
  if (keepsAll(twoByOne, inTwo)) ways.push({ inOne, inTwo: twoByOne });
  return ways;
}

/** Aligns a side through the other: `inOther` leads from the base to the other, `across` from there to the side. */
function byWay(base: Int32Array, side: Int32Array, inOther: Matches, across: Matches, aligner: Aligner): Matches {
  const matches = new Int32Array(base.length).fill(-1);
  let [b, s] = [0, 0];
  for (let at = 0; at <= base.length; at++) {
    const found = at === base.length ? side.length : (across[inOther[at] ?? -1] ?? -1);
    if (found === -1) continue;
    if (at > b && found > s) {
      const between = aligner.align(base.subarray(b, at), side.subarray(s, found));
      for (let index = 0; index < between.length; index++) {
        const match = between[index] ?? -1;
        if (match !== -1) matches[b + index] = s + match;
      }
    }
    if (at < base.length) matches[at] = found;
    [b, s] = [at + 1, found + 1];
  }
  return matches;
}

/** Whether one alignment differs from another and keeps at least as many lines. */
function keepsAll(one: Matches, other: Matches): boolean {
  let [more, differs] = [0, false];
  for (let index = 0; index < one.length; index++) {
    if (one[index] !== other[index]) differs = true;
    more += (one[index] === -1 ? 0 : 1) - (other[index] === -1 ? 0 : 1);
  }
  return differs && more >= 0;
}
