import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { diff3Merge } from 'node-diff3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshLine, type Triple, triples } from './notes.js';
import { lines, mergedText } from './support.js';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mend-oracle-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** What git makes of a triple; undefined for a conflict. */
function byGit({ base, store, other }: Triple): string | undefined {
  const names = ['store', 'base', 'other'].map((name) => join(folder, name));
  [store, base, other].forEach((text, index) => {
    writeFileSync(names[index] ?? '', text);
  });
  const { status, stdout, error } = spawnSync('git', ['merge-file', '-p', ...names], { encoding: 'utf8' });
  if (error !== undefined || status === null || status > 127) throw error ?? new Error(`git ended with ${status}`);
  return status === 0 ? stdout : undefined;
}

/** What node-diff3 makes of a triple; undefined for a conflict. */
function byNodeDiff3({ base, store, other }: Triple): string | undefined {
  const split = (text: string) => text.split('\n').slice(0, -1);
  const regions = diff3Merge(split(store), split(base), split(other), { excludeFalseConflicts: true });
  const parts = regions.map((region) => region.ok?.map((line) => `${line}\n`).join(''));
  return parts.includes(undefined) ? undefined : parts.join('');
}

const oracles = { 'git merge-file': byGit, 'node-diff3': byNodeDiff3 };

describe.each(Object.entries(oracles))('%s', (name, oracle) => {
  test('agrees wherever it merges lines that are all different without a conflict', () => {
    let clean = 0;
    let asked = 0;
    const input = triples({ line: freshLine, moves: false });
    fc.assert(
      fc.property(input, (triple) => {
        asked++;
        const wanted = oracle(triple);
        if (wanted === undefined) return;
        clean++;
        expect(mergedText(triple.base, triple.store, triple.other)).toBe(wanted);
      }),
      { numRuns: Number(process.env['MEND_TEST_RUNS'] ?? (name === 'node-diff3' ? 500 : 120)) },
    );
    // Otherwise nothing was compared.
    expect(clean).toBeGreaterThan(asked / 4);
  });

  test('agrees on what notes see every day', () => {
    for (const [base, store, other] of [
      ['a b c d e', 'A b c d e', 'a b c d E'],
      ['a b c d e', 'b c d e', 'a b c d e f'],
      ['a b c d e', 'a x b c d e', 'a b c d e'],
      ['a b c d e', 'a b c', 'A b c d e'],
    ] as const) {
      const triple = { base: lines(base), store: lines(store), other: lines(other) };
      expect(oracle(triple)).toBe(mergedText(triple.base, triple.store, triple.other));
    }
  });

  test('calls it a conflict when both append; here both lines are kept', () => {
    const triple = { base: 'a\n', store: 'a\ns\n', other: 'a\no\n' };
    expect(oracle(triple)).toBe(undefined);
    expect(mergedText(triple.base, triple.store, triple.other)).toBe('a\ns\no\n');
  });
});
