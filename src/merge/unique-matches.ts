/** Room for one place of every line number in each of two sequences. All zero between calls. */
export interface Places {
  readonly a: Int32Array;
  readonly b: Int32Array;
}

/**
 * Index pairs of the lines that both sequences have exactly once, as many as stand in the same order in both
 * (the anchors of a patience diff). Takes time in proportion to n log n.
 */
export function uniqueMatches(a: Int32Array, b: Int32Array, places: Places): [number, number][] {
  note(a, places.a);
  note(b, places.b);
  const pairs: [number, number][] = [];
  for (let index = 0; index < a.length; index++) {
    const id = a[index] ?? 0;
    const place = places.b[id] ?? 0;
    if (place > 0 && places.a[id] === index + 1) pairs.push([index, place - 1]);
  }
  forget(a, places.a);
  forget(b, places.b);
  return longestRising(pairs);
}

/** Notes where each line stands, counted from 1; -1 when it stands at several places. */
function note(sequence: Int32Array, places: Int32Array): void {
  for (let index = 0; index < sequence.length; index++) {
    const id = sequence[index] ?? 0;
    places[id] = places[id] === 0 ? index + 1 : -1;
  }
}

function forget(sequence: Int32Array, places: Int32Array): void {
  for (let index = 0; index < sequence.length; index++) places[sequence[index] ?? 0] = 0;
}

/** The longest part of a list of pairs whose second numbers rise. */
function longestRising(pairs: readonly [number, number][]): [number, number][] {
  /** For each length, the pair that ends a rising part of it at the lowest number. */
  const ends: number[] = [];
  const before = new Int32Array(pairs.length).fill(-1);
  pairs.forEach(([, value], index) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] ?? 0]?.[1] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    before[index] = ends[low - 1] ?? -1;
    ends[low] = index;
  });
  const rising: [number, number][] = [];
  for (let index = ends.at(-1) ?? -1; index !== -1; index = before[index] ?? -1) {
    const pair = pairs[index];
    if (pair !== undefined) rising.push(pair);
  }
  return rising.reverse();
}
