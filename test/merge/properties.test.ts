import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { merge } from '../../src/merge/merge.js';
import { commonLine, countLines, freshLine, missing, noteLine, triples, wildText } from './notes.js';
import { mergedText, mergeTexts, options } from './support.js';

const runs = { numRuns: Number(process.env['MEND_TEST_RUNS'] ?? 300) };

const inputs = {
  'lines that are all different': triples({ line: freshLine, moves: false }),
  'lines of notes': triples({ line: noteLine, moves: true }),
  'lines of which many are equal': triples({ line: commonLine, moves: true }),
  'long texts': triples({ line: noteLine, moves: true, lines: 200, edits: 30 }),
};

describe.each(Object.entries(inputs))('with %s', (_name, input) => {
  test('no line that a side added is lost, and none is invented', () => {
    fc.assert(
      fc.property(input, ({ base, store, other }) => {
        const result = mergedText(base, store, other);
        expect(missing(base, store, result)).toEqual([]);
        expect(missing(base, other, result)).toEqual([]);
        const known = new Set([...countLines(store).keys(), ...countLines(other).keys()]);
        expect([...countLines(result).keys()].filter((line) => !known.has(line))).toEqual([]);
      }),
      runs,
    );
  });

  test('a line that both sides left is left, one that either removed and neither wrote is gone', () => {
    fc.assert(
      fc.property(input, ({ base, store, other }) => {
        const [before, ours, theirs, there] = [base, store, other, mergedText(base, store, other)].map(countLines);
        for (const [line, count] of before ?? []) {
          if (count > 1 || line === '') continue;
          const left = (ours?.get(line) ?? 0) + (theirs?.get(line) ?? 0);
          if (left === 0) expect(there?.has(line), line).toBe(false);
          if ((ours?.has(line) ?? false) && (theirs?.has(line) ?? false)) expect(there?.has(line), line).toBe(true);
        }
      }),
      runs,
    );
  });

  test('merging is deterministic, and the sides may change places', () => {
    fc.assert(
      fc.property(input, ({ base, store, other }) => {
        const result = mergedText(base, store, other);
        expect(mergedText(base, store, other)).toBe(result);
        expect(countLines(mergedText(base, other, store))).toEqual(countLines(result));
      }),
      runs,
    );
  });

  test('without a base all lines of both are there', () => {
    fc.assert(
      fc.property(input, ({ store, other }) => {
        for (const base of ['', null]) {
          const result = mergeTexts(base, store, other);
          if (result.kind === 'refused') {
            expect(base).toBe(null);
            continue;
          }
          const text = result.bytes.toString();
          expect([...missing('', store, text), ...missing('', other, text)]).toEqual([]);
          expect(mergedText('', text, other)).toBe(text);
          expect(mergedText('', text, store)).toBe(text);
        }
      }),
      runs,
    );
  });
});

test('merging a result again changes nothing where lines are different and not moved', () => {
  fc.assert(
    fc.property(inputs['lines that are all different'], ({ base, store, other }) => {
      const result = mergedText(base, store, other);
      for (const side of [store, other]) {
        expect(mergedText(base, result, side)).toBe(result);
        expect(mergedText(base, side, result)).toBe(result);
        expect(mergedText(side, result, side)).toBe(result);
      }
    }),
    runs,
  );
});

test('bytes of every kind are merged without losing a line, or refused', () => {
  fc.assert(
    fc.property(wildText, wildText, wildText, fc.boolean(), (base, store, other, known) => {
      const result = mergeTexts(known ? base : null, store, other);
      if (result.kind === 'refused') {
        expect(['frontmatter', 'too different']).toContain(result.reason);
        return;
      }
      expect(result.lost).toEqual({ store: 0, other: 0 });
      const text = result.bytes.toString();
      if (store === base && known) expect(text).toBe(other);
      if (other === base && known) expect(text).toBe(store);
      if (known) expect(mergedText(other, text, other)).toBe(text);
    }),
    { numRuns: runs.numRuns * 5 },
  );
});

test('bytes at random are merged or refused, never with an error', () => {
  const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array));
  fc.assert(
    fc.property(fc.option(bytes), bytes, bytes, (base, store, other) => {
      const result = merge({ base, store, other }, options);
      if (result.kind === 'merged') expect(result.lost).toEqual({ store: 0, other: 0 });
    }),
    runs,
  );
});
