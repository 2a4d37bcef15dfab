import type { MergeSides } from './merge-sides.js';
import { readerFor } from './parses.js';

/** Limits within which a merge was measured to take under 20 ms whatever it holds; see docs/merging.md. */
const quick = {
  /** Bytes of all sides together. */
  bytes: 1 << 18,
  /** Lines of all sides together. */
  lines: 5000,
  /** Those of them that lie between what all sides have in common at the start and at the end. */
  changedLines: 600,
  /** Bytes of a file that is read as JSON, YAML or TOML. */
  parsedBytes: 2048,
};

/**
 * Tells whether a merge could take over about 20 ms and belongs on a worker thread. Takes well under 2 ms itself. With
 * a path, the time for reading the result is considered too.
 */
export function mayBeSlow(sides: MergeSides, path = ''): boolean {
  const texts = [sides.store, sides.other, ...(sides.base === null ? [] : [sides.base])];
  if (texts.reduce((sum, text) => sum + text.length, 0) > quick.bytes) return true;
  if (readerFor(path) !== undefined && texts.some((text) => text.length > quick.parsedBytes)) return true;
  if (!hasAtMost(texts, quick.lines)) return true;
  const shortest = Math.min(...texts.map((text) => text.length));
  const head = sameLength(texts, shortest, (text, length) => text.subarray(0, length));
  const tail = sameLength(texts, shortest - head, (text, length) => text.subarray(text.length - length));
  return !hasAtMost(
    texts.map((text) => text.subarray(head, text.length - tail)),
    quick.changedLines,
  );
}

function hasAtMost(texts: readonly Buffer[], lines: number): boolean {
  let left = lines;
  for (const text of texts) {
    for (let feed = text.indexOf(10); feed !== -1; feed = text.indexOf(10, feed + 1)) if (--left < 0) return false;
  }
  return true;
}

/** The greatest length, `most` or less, of which all texts have the same part, found by halving. */
function sameLength(texts: readonly Buffer[], most: number, part: (text: Buffer, length: number) => Buffer): number {
  const [first, ...others] = texts;
  if (first === undefined) return 0;
  let [low, high] = [0, most];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const wanted = part(first, middle);
    if (others.every((text) => part(text, middle).equals(wanted))) low = middle;
    else high = middle - 1;
  }
  return low;
}
