import { describe, expect, test } from 'vitest';
import { hardInputs } from '../../bench/lib/merge-inputs.mjs';
import { Aligner } from '../../src/merge/align.js';
import { join } from '../../src/merge/join.js';
import { mayBeSlow } from '../../src/merge/may-be-slow.js';
import { merge } from '../../src/merge/merge.js';
import { Tally } from '../../src/merge/tally.js';
import { hasWords, LineTable, splitLines } from '../../src/merge/text.js';
import type { Work } from '../../src/merge/work.js';
import { options } from './support.js';

const inputs = [...hardInputs()].map(([name, triple]) => ({ name, ...triple }));

/** Joins texts as a merge does, and tells what is left of the work it may spend. */
function workLeft(base: Buffer, store: Buffer, other: Buffer): Work {
  const table = new LineTable();
  const sequences = {
    base: splitLines(base, table).ids,
    store: splitLines(store, table).ids,
    other: splitLines(other, table).ids,
  };
  const tally = () => new Tally(table.lines.length);
  const aligner = new Aligner(table.lines.length);
  const tallies = { before: tally(), after: tally(), theirs: tally() };
  join(sequences, { aligner, tallies, hasWords: (id) => hasWords(table.line(id)), storeFirst: true });
  return aligner.work;
}

describe.each(inputs)('1 MB: $name', ({ base, store, other }) => {
  test('takes no more steps than a merge may', () => {
    const { comparisons, visits } = workLeft(base, store, other);
    expect([comparisons >= 0, visits >= 0]).toEqual([true, true]);
  });

  test('keeps every line that a side added', () => {
    const result = merge({ base, store, other }, options);
    expect(result).toMatchObject({ kind: 'merged', lost: { store: 0, other: 0 } });
  });
});

test('the bound is met where it has to be, and only there', () => {
  const left = (name: string) => {
    const { base, store, other } = hardInputs(1 << 14).get(name) ?? {};
    if (base === undefined || store === undefined || other === undefined) throw new Error('no such input');
    return workLeft(base, store, other).comparisons;
  };
  expect(left('26 letters at random')).toBe(0);
  expect(left('half blank lines')).toBeGreaterThan(0);
});

test('what is cut off gives the same result each time', () => {
  const { base, store, other } = hardInputs(1 << 15).get('26 letters at random') ?? {};
  if (base === undefined || store === undefined || other === undefined) throw new Error('no such input');
  const [one, two] = [1, 2].map(() => merge({ base, store, other }, options));
  expect(one?.kind === 'merged' && two?.kind === 'merged' && one.bytes.equals(two.bytes)).toBe(true);
});

describe('whether a merge may be slow', () => {
  const text = (count: number, word = 'line') =>
    Buffer.from(Array.from({ length: count }, (_, index) => `${word} ${index}\n`).join(''));

  test('small notes are not, nor is a line more in a long one', () => {
    expect(mayBeSlow({ base: text(100), store: text(110), other: text(90, 'other') })).toBe(false);
    expect(mayBeSlow({ base: text(1500), store: text(1501), other: text(1502) })).toBe(false);
    expect(mayBeSlow({ base: null, store: text(50), other: text(60, 'other') })).toBe(false);
  });

  test('many changed lines, many lines and many bytes are', () => {
    expect(mayBeSlow({ base: text(500), store: text(500, 'a'), other: text(500, 'b') })).toBe(true);
    expect(mayBeSlow({ base: text(4000), store: text(4001), other: text(4002) })).toBe(true);
    expect(mayBeSlow({ base: null, store: Buffer.alloc(1 << 20, 'a'), other: text(1) })).toBe(true);
    for (const { name, ...triple } of inputs) expect(mayBeSlow(triple), name).toBe(true);
  });

  test('files that have to be read as YAML are sooner', () => {
    const sides = { base: text(250), store: text(251), other: text(252) };
    expect([mayBeSlow(sides), mayBeSlow(sides, 'x.md'), mayBeSlow(sides, 'x.yaml')]).toEqual([false, false, true]);
  });
});
