import { Aligner } from './align.js';
import { assemble, type Part } from './assemble.js';
import { planHead, type Texts, withoutHead } from './frontmatter.js';
import { isText } from './is-text.js';
import { join, type Tools } from './join.js';
import { tooDifferent } from './likeness.js';
import { countLost, countMerged } from './lost-lines.js';
import type { MergeRefusal, MergeResult } from './merge-result.js';
import type { MergeOptions, MergeSides } from './merge-sides.js';
import { readerFor } from './parses.js';
import { Tally } from './tally.js';
import { hasWords, LineTable, splitLines } from './text.js';

/**
 * Merges what the store and another side made of a base. Pure and deterministic: the same bytes give the same result
 * (spec §6). A side that changed nothing gives way to the other, byte for byte.
 */
export function merge(sides: MergeSides, options: MergeOptions): MergeResult {
  const { base, store, other } = sides;
  if (store.equals(other) || base?.equals(other)) return merged(store, true, { store: 0, other: 0 }, 0);
  if (base?.equals(store)) return merged(other, true, { store: 0, other: 0 }, 0);
  if (![base, store, other].every((bytes) => bytes === null || isText(bytes))) return refused('not text');
  const reader = readerFor(options.path);
  if (reader !== undefined && Math.max(store.length, other.length) > reader.limit) return refused('too large to check');

  const table = new LineTable();
  const texts: Texts = {
    base: base === null ? null : splitLines(base, table),
    store: splitLines(store, table),
    other: splitLines(other, table),
  };
  const plan = reader === undefined ? planHead(texts, table, options) : withoutHead;
  if (plan === 'refused') return refused('frontmatter');
  const { ends } = plan;
  if (base === null && tooDifferent(texts, ends, table)) return refused('too different');

  const lines = table.lines.length;
  const tools: Tools = {
    aligner: new Aligner(lines),
    tallies: { before: new Tally(lines), after: new Tally(lines), theirs: new Tally(lines) },
    hasWords: (id) => hasWords(table.line(id)),
    storeFirst: Buffer.compare(store, other) < 0,
  };
  const head = plan.head ?? joinLines(texts, { base: 0, store: 0, other: 0 }, ends, tools);
  const body = joinLines(texts, ends, undefined, tools);
  const parts = [...head.parts, ...body.parts];
  const bytes = assemble(parts, texts);
  if (reader !== undefined && !reader.parses(bytes) && (reader.parses(store) || reader.parses(other))) {
    return refused('does not parse');
  }
  const counted = countMerged(parts, texts.store, texts.other, table);
  const settled = plan.head?.settled ?? { store: [], other: [] };
  const lost = {
    store: countLost(texts.base, texts.store, settled.store, counted),
    other: countLost(texts.base, texts.other, settled.other, counted),
  };
  return merged(bytes, head.clean && body.clean, lost, countLost(null, texts.other, settled.other, counted));
}

function merged(
  bytes: Buffer,
  clean: boolean,
  lost: { readonly store: number; readonly other: number },
  gone: number,
): MergeResult {
  return { kind: 'merged', bytes, clean, lost, gone };
}

function refused(reason: MergeRefusal): MergeResult {
  return { kind: 'refused', reason };
}

interface Cut {
  readonly base: number;
  readonly store: number;
  readonly other: number;
}

/** Merges the lines of three texts between two cuts. */
function joinLines(texts: Texts, from: Cut, to: Cut | undefined, tools: Tools): { parts: Part[]; clean: boolean } {
  const sequences = {
    base: texts.base?.ids.subarray(from.base, to?.base) ?? new Int32Array(),
    store: texts.store.ids.subarray(from.store, to?.store),
    other: texts.other.ids.subarray(from.other, to?.other),
  };
  const { pieces, clean } = join(sequences, tools);
  for (const piece of pieces) {
    piece.from += from[piece.side];
    piece.to += from[piece.side];
  }
  return { parts: pieces, clean };
}
