import { describe, expect, test } from 'vitest';
import { lines, mergedText, mergeTexts, words } from './support.js';

/** Base, store, other and the result, one word for each line. */
type Row = readonly [what: string, base: string, store: string, other: string, result: string];

const rows: Row[] = [
  ['one side adds', 'a b', 'a b', 'a x b', 'a x b'],
  ['both add at different places', 'a b c', 'a x b c', 'a b y c', 'a x b y c'],
  ['both append', 'a b', 'a b x', 'a b y', 'a b x y'],
  ['both put something first', 'a b', 'x a b', 'y a b', 'x y a b'],
  ['both append the same', 'a b', 'a b x', 'a b x', 'a b x'],
  ['both append, one line in common', 'a', 'a x s', 'a o x', 'a o x s'],
  ['both append, the same and more', 'a', 'a x', 'a x y', 'a x y'],
  ['both fill an empty file', '', 'x y', 'z', 'x y z'],
  ['both change a line to different texts', 'a b c', 'a s c', 'a o c', 'a s o c'],
  ['both change a line to the same text', 'a b c', 'a x c', 'a x c', 'a x c'],
  ['lines next to each other are changed', 'a b c d', 'a B c d', 'a b C d', 'a B C d'],
  ['lines next to each other are changed, the first by the other side', 'a b c d', 'a b C d', 'a B c d', 'a B C d'],
  ['a line is changed and one put after it', 'a b c', 'a B c', 'a b n c', 'a B n c'],
  ['a line is changed and one put before it', 'a b c', 'a B c', 'a n b c', 'a n B c'],
  ['both put the same line after one that the other side changed', 'a b c', 'a b n c', 'a B n c', 'a B n c'],
  ['a line is removed, another changed', 'a b c d e', 'a c d e', 'a b c d E', 'a c d E'],
  ['a line is removed, the next one changed', 'a b c d', 'a c d', 'a b C d', 'a C d'],
  ['three lines are removed, the one in the middle was changed', 'a b c d e', 'a e', 'a b C d e', 'a C e'],
  ['a line is removed that was changed', 'a b c', 'a c', 'a B c', 'a B c'],
  ['a line is removed where one was put in', 'a b c', 'a c', 'a b n c', 'a n c'],
  ['both remove different lines', 'a b c d', 'a c d', 'a b d', 'a d'],
  ['both remove lines next to each other', 'a b c d', 'a c d', 'a b d', 'a d'],
  ['both remove the same and one more', 'a b c d', 'a d', 'a c d', 'a d'],
  ['one side empties the file', 'a b c', '', 'a b c d', 'd'],
  ['the other side empties the file', 'a b c', 'a b c d', '', 'd'],
  ['one side empties the file, the other changes a line', 'a b c', '', 'a B c', 'B'],
  ['one side rewrites all, the other appends', 'a b c', 'x y z', 'a b c d', 'x y z d'],
  ['both rewrite all', 'a b c', 'x y', 'u v w', 'x y u v w'],
  ['a line is moved down', 'm a b c d', 'a b c d m', 'm a b c d e', 'a b c d m e'],
  ['a line is moved and changed', 'm a b c d', 'a b c d m', 'M a b c d', 'M a b c d m'],
  ['a line is moved far and removed', 'm a b c d', 'a b c d m', 'a b c d', 'a b c d m'],
  ['both move a line to different places', 'm a b c d', 'a b m c d', 'a b c d m', 'a b m c d m'],
  ['a block is moved, another line added in it', 'p q a b c d', 'a b c d p q', 'p n q a b c d', 'n a b c d p q'],
  ['one copy is added, the other side removes the line', 'a b c', 'a b b c', 'a c', 'a b b c'],
  ['one copy of two is removed, the other side changes its neighbour', 'a b b c', 'a b c', 'a n b b c', 'a n b c'],
  ['each side removes one copy of two', 'a b b c', 'a b c', 'a b c', 'a b c'],
  ['one side removes a copy, the other puts a line between', 'a b b c', 'a b c', 'a n b c', 'a n b c'],
  ['both sort lines', 'c b a', 'a b c', 'a b c', 'a b c'],
];

describe.each(rows)('%s', (_what, base, store, other, result) => {
  test('is merged', () => {
    expect(words(mergedText(lines(base), lines(store), lines(other)))).toBe(result);
  });

  test('gives the same lines when the sides change places', () => {
    const swapped = words(mergedText(lines(base), lines(other), lines(store)));
    expect(swapped.split(' ').sort()).toEqual(result.split(' ').sort());
  });

  test('is done once', () => {
    const again = (side: string) => words(mergedText(lines(base), lines(result), lines(side)));
    expect([again(store), again(other)]).toEqual([result, result]);
    const turned = (side: string) => words(mergedText(lines(base), lines(side), lines(result)));
    expect([turned(store), turned(other)]).toEqual([result, result]);
  });
});

test('sections that both sides append stay whole, with the blank lines around them', () => {
  const merged = mergedText('# Notes\n', '# Notes\n\n## One\n\nfirst\n', '# Notes\n\n## Two\n\nsecond\n');
  expect(merged).toBe('# Notes\n\n## One\n\nfirst\n\n## Two\n\nsecond\n');
});

test('a section that both sides wrote stands there once', () => {
  const merged = mergedText('# N\n', '# N\n\n## A\n\none\n\n## B\n\ntwo\n', '# N\n\n## A\n\none\n\n## C\n\nthree\n');
  expect(merged).toBe('# N\n\n## A\n\none\n\n## B\n\ntwo\n## C\n\nthree\n');
});

test('no marker of a conflict is written', () => {
  const merged = mergedText('a\nb\nc\n', 'a\nx\nc\n', 'a\ny\nc\n');
  expect(merged).not.toMatch(/^(<{7}|={7}|>{7}|\|{7})/m);
});

test('a merge is clean unless both sides changed one place', () => {
  const clean = (base: string, store: string, other: string) => {
    const result = mergeTexts(lines(base), lines(store), lines(other));
    return result.kind === 'merged' && result.clean;
  };
  expect(clean('a b c', 'A b c', 'a b C')).toBe(true);
  expect(clean('a b c', 'a x c', 'a x c')).toBe(true);
  expect(clean('a b c', 'a b c', 'a x c')).toBe(true);
  expect(clean('a b c', 'a b c s', 'a b c o')).toBe(false);
  expect(clean('a b c', 'a c', 'a B c')).toBe(false);
});
