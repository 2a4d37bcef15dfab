import { diffArrays } from 'diff';
import { exactEdits, type Work } from './work.js';

/** Thrown through the library's diff when the work is used up. */
const enough = new Error('the diff takes too many comparisons');

/** Index pairs of a longest common subsequence, or nothing when that takes more work than is left. */
export function exactMatches(a: Int32Array, b: Int32Array, work: Work): [number, number][] | undefined {
  // Each line that one has more than the other is an edit.
  if (work.comparisons === 0 || Math.abs(a.length - b.length) > exactEdits) return undefined;
  const comparator = (left: number, right: number): boolean => {
    if (work.comparisons === 0) throw enough;
    work.comparisons--;
    return left === right;
  };
  try {
    const changes = diffArrays(list(a), list(b), { comparator, maxEditLength: exactEdits });
    if (changes === undefined) return undefined;
    const pairs: [number, number][] = [];
    let [inA, inB] = [0, 0];
    for (const { added, removed, count } of changes) {
      if (!added && !removed) for (let step = 0; step < count; step++) pairs.push([inA + step, inB + step]);
      if (!added) inA += count;
      if (!removed) inB += count;
    }
    return pairs;
  } catch (error) {
    if (error === enough) return undefined;
    throw error;
  }
}

function list(numbers: Int32Array): number[] {
  const result: number[] = new Array(numbers.length);
  for (let index = 0; index < numbers.length; index++) result[index] = numbers[index] ?? 0;
  return result;
}
