import { type Span, type Spans, TextIndex } from '../store/text-index.js';
import { literalSpans } from './search-literal.js';
import type { SearchWord } from './search-words.js';

/** Something with a name and a text; the text is empty when it cannot be searched. */
export interface Document {
  readonly name: string;
  readonly body: string;
}

/** A line that was found, with the places of the words in it. */
export interface FoundLine {
  /** From 1 on. */
  readonly number: number;
  readonly text: string;
  readonly spans: readonly Span[];
}

/** A document that has all words, in its name and its text together. */
export interface Found<T> {
  readonly document: T;
  readonly name: readonly Span[];
  /** The lines that have the most of the words; none when all are in the name. */
  readonly lines: readonly FoundLine[];
}

/** UTF-16 units of texts that are indexed at a time. */
const BATCH = 8 * 1024 * 1024;

/** Finds the documents that have all of some words. */
export function searchDocuments<T extends Document>(documents: Iterable<T>, words: readonly SearchWord[]): Found<T>[] {
  const found: Found<T>[] = [];
  let batch: T[] = [];
  let size = 0;
  for (const document of documents) {
    batch.push(document);
    size += document.body.length;
    if (size < BATCH) continue;
    found.push(...searchBatch(batch, words));
    batch = [];
    size = 0;
  }
  return [...found, ...searchBatch(batch, words)];
}

function searchBatch<T extends Document>(documents: readonly T[], words: readonly SearchWord[]): Found<T>[] {
  const index = new TextIndex();
  try {
    const queries = words.flatMap(({ query }) => query ?? []);
    // Signs alone need no index.
    if (queries.length > 0) index.fill(documents);
    const candidates = queries.length > 0 ? index.matching(queries.join(' AND ')) : [...documents.keys()];
    const indexed = words.map(({ query, literal }) =>
      literal || query === undefined ? undefined : index.spans(candidates, query),
    );
    return candidates.flatMap((id) => {
      const document = documents[id];
      if (!document) return [];
      const spans = (word: SearchWord, at: number): Spans =>
        indexed[at]
          ? (indexed[at].get(id) ?? { name: [], body: [] })
          : { name: literalSpans(document.name, word), body: literalSpans(document.body, word) };
      return foundIn(document, words, spans) ?? [];
    });
  } finally {
    index.close();
  }
}

function foundIn<T extends Document>(
  document: T,
  words: readonly SearchWord[],
  spansOf: (word: SearchWord, at: number) => Spans,
): Found<T> | undefined {
  const spans: Spans[] = [];
  for (const [at, word] of words.entries()) {
    const found = spansOf(word, at);
    if (found.name.length === 0 && found.body.length === 0) return undefined;
    spans.push(found);
  }
  const bodies = spans.map(({ body }) => body);
  return { document, name: united(spans.flatMap(({ name }) => name)), lines: bestLines(document.body, bodies) };
}

/** The lines with the most of the words. A find that runs over several lines counts for each. */
function bestLines(text: string, bodies: readonly (readonly Span[])[]): FoundLine[] {
  const lines = new Map<number, { spans: Span[]; words: Set<number> }>();
  const starts = lineStarts(text);
  for (const [word, spans] of bodies.entries()) {
    for (const span of spans) {
      for (let line = lineAt(starts, span.from); (starts[line] ?? text.length) < span.to; line++) {
        const known = lines.get(line) ?? { spans: [], words: new Set() };
        lines.set(line, known);
        known.spans.push(span);
        known.words.add(word);
      }
    }
  }
  let most = 0;
  for (const { words } of lines.values()) most = Math.max(most, words.size);
  return [...lines]
    .filter(([, { words }]) => words.size === most)
    .sort(([a], [b]) => a - b)
    .map(([line, { spans }]) => {
      const start = starts[line] ?? 0;
      const whole = text.slice(start, starts[line + 1] ?? text.length).replace(/\r?\n$/, '');
      const within = spans.map(({ from, to }) => ({
        from: Math.max(0, from - start),
        to: Math.min(whole.length, to - start),
      }));
      return { number: line + 1, text: whole, spans: united(within) };
    });
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function lineAt(starts: readonly number[], place: number): number {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= place) low = middle;
    else high = middle;
  }
  return low;
}

/** Spans in order, those that overlap as one. */
function united(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from || a.to - b.to)) {
    const last = result.at(-1);
    if (last && span.from <= last.to) result[result.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
    else result.push(span);
  }
  return result;
}
