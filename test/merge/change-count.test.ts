import { expect, test } from 'vitest';
import { changeCount } from '../../src/merge/change-count.js';

const count = (base: string, text: string) => changeCount(Buffer.from(base), Buffer.from(text));

test('counts lines that were added and removed', () => {
  expect(count('a\nb\nc\n', 'a\nb\nc\n')).toBe(0);
  expect(count('a\nb\nc\n', 'a\nc\n')).toBe(1);
  expect(count('a\nb\nc\n', 'a\nB\nc\n')).toBe(2);
  expect(count('', 'a\nb\n')).toBe(2);
  expect(count('a\nb\n', '')).toBe(2);
  expect(count('a\nb\nc\n', 'b\nc\na\n')).toBe(2);
});

test('a line end, a missing one and a mark count', () => {
  expect(count('a\nb\n', 'a\r\nb\r\n')).toBe(4);
  expect(count('a\nb\n', 'a\nb')).toBe(2);
  expect(count('a\n', '\ufeffa\n')).toBe(1);
});

test('tells which of two candidates a text was written from', () => {
  const old = '- a\n- b\n';
  const seen = '- a\n- b\n- added by another\n';
  expect(count(old, '- a\n- b\n- mine\n')).toBeLessThan(count(seen, '- a\n- b\n- mine\n'));
  expect(count(seen, `${seen}- mine\n`)).toBeLessThan(count(old, `${seen}- mine\n`));
});

test('what is not text is equal or far away', () => {
  const binary = Buffer.from([0, 1, 2]);
  expect(changeCount(binary, Buffer.from(binary))).toBe(0);
  expect(changeCount(binary, Buffer.from('a\n'))).toBe(Number.MAX_SAFE_INTEGER);
  expect(changeCount(Buffer.from('a\n'), binary)).toBe(Number.MAX_SAFE_INTEGER);
});
