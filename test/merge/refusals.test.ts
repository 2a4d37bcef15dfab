import { describe, expect, test } from 'vitest';
import { hasKeyTwice } from '../../src/merge/json-keys.js';
import { longEnough } from '../../src/merge/likeness.js';
import { refusalPhrase } from '../../src/merge/merge-result.js';
import { mergedText, mergeTexts } from './support.js';

/** A text of so many lines that no other word's text has. */
function prose(word: string, count: number): string {
  return Array.from({ length: count }, (_, index) => `${word} says thing ${index}\n`).join('');
}

describe('without a base', () => {
  test('long texts with nothing in common are refused', () => {
    const [one, two] = [prose('one', longEnough), prose('two', longEnough)];
    expect(mergeTexts(null, one, two)).toEqual({ kind: 'refused', reason: 'too different' });
    expect(mergeTexts(null, `---\na: 1\n---\n${one}`, `---\na: 1\n---\n${two}`)).toMatchObject({ kind: 'refused' });
  });

  test('short texts are not', () => {
    const [one, two] = [prose('one', longEnough - 1), prose('two', longEnough + 5)];
    expect(mergedText(null, one, two)).toBe(one + two);
  });

  test('nor are texts with a few lines in common', () => {
    const shared = prose('both', 3);
    expect(mergedText(null, shared + prose('one', 20), shared + prose('two', 20))).toBe(
      shared + prose('one', 20) + prose('two', 20),
    );
  });

  test('nor are two indices', () => {
    const index = (word: string) => Array.from({ length: 30 }, (_, at) => `- [${word}](${word}${at}.md)\n`).join('');
    expect(mergedText(null, index('a'), index('b'))).toBe(index('a') + index('b'));
  });

  test('an empty base is a base: nothing is too different then', () => {
    expect(mergedText('', prose('one', 20), prose('two', 20))).toBe(prose('one', 20) + prose('two', 20));
  });
});

describe('files with a format', () => {
  const refused = { kind: 'refused', reason: 'does not parse' };

  test('are merged while the result parses', () => {
    const base = '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n';
    const merged = mergedText(base, base.replace('1', '9'), base.replace('3', '7'), { path: 'x.json' });
    expect(JSON.parse(merged)).toEqual({ a: 9, b: 2, c: 7 });
    expect(mergedText('a: 1\nb: 2\n', 'a: 3\nb: 2\n', 'a: 1\nb: 2\nc: 4\n', { path: 'd/x.yml' })).toBe(
      'a: 3\nb: 2\nc: 4\n',
    );
    expect(mergedText('[t]\na = 1\n', '[t]\na = 1\n\n[s]\n', '[o]\n[t]\na = 1\n', { path: 'x.toml' })).toBe(
      '[o]\n[t]\na = 1\n\n[s]\n',
    );
  });

  test.each([
    ['x.json', '{\n"a": 1\n}\n', '{\n"a": 2\n}\n', '{\n"a": 3\n}\n'],
    ['X.JSON', '{\n"a": 1,\n"z": 1\n}\n', '{\n"a": 2,\n"z": 1\n}\n', '{\n"a": 3,\n"z": 1\n}\n'],
    ['x.yaml', 'a: 1\n', 'a: 2\n', 'a: 3\n'],
    ['x.yml', 'a:\n  - 1\n', 'a:\n  - 1\n  - 2\n', 'a: [1,\n2]\n'],
    ['x.toml', 'a = 1\n', 'a = 2\n', 'a = 3\n'],
  ])('are refused when it does not: %s', (path, base, store, other) => {
    expect(mergeTexts(base, store, other, { path })).toEqual(refused);
    expect(mergeTexts(base, store, other)).toMatchObject({ kind: 'merged' });
  });

  test('that did not parse before are merged as text', () => {
    expect(mergedText('{\n', '{\n1\n', '{\n2\n', { path: 'x.json' })).toBe('{\n1\n2\n');
  });

  test('that are too large to be read in time are refused', () => {
    const text = 'a: 1\n'.repeat(8000);
    expect(mergeTexts('', text, `${text}b: 2\n`, { path: 'x.yaml' })).toMatchObject({ reason: 'too large to check' });
  });

  test('a key that is there twice in one object is found, one in two is not', () => {
    expect(hasKeyTwice('{"a": 1, "b": {"a": [{"a": "a"}, {"a": "\\"a\\":"}]}}')).toBe(false);
    expect(hasKeyTwice('[{"x": {"a": 1, "b": "}", "\\u0061": 2}}]')).toBe(true);
  });
});

test('each reason has a phrase for people', () => {
  const reasons = ['not text', 'frontmatter', 'too different', 'does not parse', 'too large to check'] as const;
  const phrases = reasons.map(refusalPhrase);
  expect(new Set(phrases).size).toBe(reasons.length);
  for (const phrase of phrases) expect(phrase).toMatch(/^[a-z][^.]*[^.]$/);
});
