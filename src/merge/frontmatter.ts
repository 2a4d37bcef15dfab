import type { Part } from './assemble.js';
import { mergeKeys } from './frontmatter-merge.js';
import { parseFrontmatter } from './frontmatter-parser.js';
import { type FrontmatterRange, findFrontmatter } from './frontmatter-range.js';
import type { Block } from './frontmatter-tree.js';
import type { MergeOptions } from './merge-sides.js';
import type { LineTable, Text } from './text.js';

/** The texts of a merge. */
export interface Texts {
  readonly base: Text | null;
  readonly store: Text;
  readonly other: Text;
}

/** How many lines at the start of each text are its frontmatter, and what they were merged to. */
export interface HeadPlan {
  readonly ends: { readonly base: number; readonly store: number; readonly other: number };
  /** The merged head. Nothing when lines are to be merged as lines, since only one side changed them. */
  readonly head: { parts: Part[]; clean: boolean; settled: { store: number[]; other: number[] } } | undefined;
}

/** For texts in which nothing is frontmatter. */
export const withoutHead: HeadPlan = { ends: { base: 0, store: 0, other: 0 }, head: undefined };

/** Decides how the frontmatter of three texts is merged. `refused` when both changed it and it is beyond §6.3. */
export function planHead(texts: Texts, table: LineTable, options: MergeOptions): HeadPlan | 'refused' {
  const { base, store, other } = texts;
  const ranges = {
    base: base === null ? { end: 0, open: false } : findFrontmatter(base, table),
    store: findFrontmatter(store, table),
    other: findFrontmatter(other, table),
  };
  const ends = { base: ranges.base.end, store: ranges.store.end, other: ranges.other.end };
  const head = (text: Text | null, range: FrontmatterRange) => text?.ids.subarray(0, range.end).join() ?? '';
  const [before, ours, theirs] = [head(base, ranges.base), head(store, ranges.store), head(other, ranges.other)];
  const oneChanged = ours === theirs || (base !== null && (ours === before || theirs === before));
  if (ranges.base.open || ranges.store.open || ranges.other.open) {
    // Where frontmatter ends is not known here: the whole text is body.
    return oneChanged ? withoutHead : 'refused';
  }
  if (oneChanged || ends.store + ends.other === 0) return { ends, head: undefined };
  const [mine, yours] = [read(store, ends.store, table), read(other, ends.other, table)];
  if (mine === undefined || yours === undefined) return 'refused';
  const start = base === null ? null : (read(base, ends.base, table) ?? null);
  const merged = mergeKeys(start, mine, yours, options);
  const fence = ends.store > 0 ? 'store' : 'other';
  const last = ends[fence] - 1;
  // One side removed all of it and the other side nothing but keys.
  const bare = merged.parts.length === 0 && ends.base > 0 && (ends.store === 0 || ends.other === 0);
  const parts: Part[] = bare
    ? []
    : [{ side: fence, from: 0, to: 1 }, ...merged.parts, { side: fence, from: last, to: last + 1 }];
  return { ends, head: { parts, clean: merged.clean, settled: merged.settled } };
}

/** The keys of a text's frontmatter; null without one, `undefined` when it is beyond plain keys and lists. */
function read(text: Text, end: number, table: LineTable): Block | null | undefined {
  if (end === 0) return null;
  const lines = Array.from(text.ids.subarray(1, end - 1), (id) => table.line(id));
  return parseFrontmatter(lines, 1);
}
