import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { merge } from '../../src/merge/merge.js';
import type { MergeResult } from '../../src/merge/merge-result.js';
import type { MergeOptions } from '../../src/merge/merge-sides.js';

export const options: MergeOptions = {
  path: 'note.md',
  maintained: ['metadata.node_type', 'metadata.originSessionId', 'metadata.modified'],
  newer: 'other',
  from: { host: 'laptop', date: '2026-07-01' },
};

/** Merges texts. */
export function mergeTexts(
  base: string | null,
  store: string,
  other: string,
  changes: Partial<MergeOptions> = {},
): MergeResult {
  const sides = {
    base: base === null ? null : Buffer.from(base),
    store: Buffer.from(store),
    other: Buffer.from(other),
  };
  return merge(sides, { ...options, ...changes });
}

/** The text of a merge that must succeed without losing a line. */
export function mergedText(
  base: string | null,
  store: string,
  other: string,
  changes: Partial<MergeOptions> = {},
): string {
  const result = mergeTexts(base, store, other, changes);
  if (result.kind === 'refused') throw new Error(`refused: ${result.reason}`);
  if (result.lost.store + result.lost.other > 0) throw new Error(`lost ${JSON.stringify(result.lost)}`);
  return result.bytes.toString();
}

/** A text of one line for each word. */
export function lines(words: string): string {
  return words
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => `${word}\n`)
    .join('');
}

/** The words of a text of one line for each. */
export function words(text: string): string {
  return text.split('\n').join(' ').trim();
}

const root = process.env['MEND_TEST_CORPUS'] ?? join(import.meta.dirname, '../../../shared');

/** Where real notes and reported cases lie; undefined where they do not. */
export const corpus = existsSync(join(root, 'corpus/triples/index.tsv')) ? root : undefined;

/** What a test that needs them is called where they are absent. */
export const withoutCorpus = `needs the corpus, which is not in ${root} (MEND_TEST_CORPUS names its folder)`;

export interface CorpusTriple {
  readonly id: string;
  readonly base: Buffer | null;
  readonly store: Buffer;
  readonly other: Buffer | null;
  /** What a person made of it, where that is known. */
  readonly result: Buffer | null;
}

/** Reads all triples of real notes. */
export function readTriples(folder: string): CorpusTriple[] {
  const triples = join(folder, 'corpus/triples');
  const rows = readFileSync(join(triples, 'index.tsv'), 'utf8').trim().split('\n').slice(1);
  return rows.map((row) => {
    const id = row.split('\t')[0] ?? '';
    const read = (name: string) => {
      const file = join(triples, id, name);
      return existsSync(file) ? readFileSync(file) : null;
    };
    const store = read('ours');
    if (store === null) throw new Error(`triple ${id} has no side of the store`);
    return { id, base: read('base'), store, other: read('theirs'), result: read('result') };
  });
}
