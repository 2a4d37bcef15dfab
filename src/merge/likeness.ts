import type { Texts } from './frontmatter.js';
import { hasWords, type LineTable } from './text.js';

/** Lines with words from which a text is long enough to be told from another. */
export const longEnough = 12;

/** Share of the shorter text's lines with words that the longer one must have too, when both are long enough. */
export const leastShared = 0.06;

/** Share of lines with a link from which a text is an index. The lines of two indices can always stand together. */
const indexShare = 0.5;

/** Tells whether two texts without a base are too different to be lined up (spec §6.4). Frontmatter does not count. */
export function tooDifferent(
  texts: Texts,
  ends: { readonly store: number; readonly other: number },
  table: LineTable,
): boolean {
  const { lines, shared, indices } = measureLikeness(texts, ends, table);
  return lines >= longEnough && shared < leastShared && !indices;
}

/** What tells whether two texts are one. */
export interface Likeness {
  /** Lines with words of the shorter text. */
  readonly lines: number;
  /** Which share of them the other text has too. */
  readonly shared: number;
  /** Whether both are mostly lines with a link, like an index of notes. */
  readonly indices: boolean;
}

/** Measures how much two texts have in common behind their frontmatter. */
export function measureLikeness(
  texts: Texts,
  ends: { readonly store: number; readonly other: number },
  table: LineTable,
): Likeness {
  const one = worded(texts.store.ids.subarray(ends.store), table);
  const two = worded(texts.other.ids.subarray(ends.other), table);
  const [shorter, longer] = one.length <= two.length ? [one, two] : [two, one];
  const there = new Set(longer);
  const common = shorter.filter((id) => there.has(id)).length;
  return {
    lines: shorter.length,
    shared: shorter.length === 0 ? 1 : common / shorter.length,
    indices: isIndex(one, table) && isIndex(two, table),
  };
}

function worded(ids: Int32Array, table: LineTable): Int32Array {
  return ids.filter((id) => hasWords(table.line(id)));
}

function isIndex(ids: Int32Array, table: LineTable): boolean {
  return ids.filter((id) => table.line(id).includes('](')).length >= ids.length * indexShare;
}
