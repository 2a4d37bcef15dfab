import { expect, test } from 'vitest';
import { DEPTH_MAX, NAME_MAX, nameFault, pathFault } from '../../src/ports/limits.js';

test.each([null, '', '.', '..', 'a/b', '/', 'a\0b'])('the name %j is invalid', (name) => {
  expect(nameFault(name)).toBe('invalid');
});

test.each(['a', '...', '.hidden', ' ', 'a\nb', '\\', 'é☃😀', '-rf', 'x'.repeat(NAME_MAX), 'é'.repeat(127)])(
  'the name %j is fine',
  (name) => {
    expect(nameFault(name)).toBe(undefined);
  },
);

test('a name is measured in bytes', () => {
  expect(nameFault('x'.repeat(NAME_MAX + 1))).toBe('too long');
  expect(nameFault('é'.repeat(128))).toBe('too long');
  expect(nameFault('😀'.repeat(64))).toBe('too long');
});

test('a path has at most 16 levels, each a name', () => {
  const levels = (count: number): string => Array.from({ length: count }, () => 'd').join('/');
  expect(pathFault(levels(DEPTH_MAX))).toBe(undefined);
  expect(pathFault(levels(DEPTH_MAX + 1))).toBe('too long');
  for (const path of ['', '/a', 'a/', 'a//b', 'a/./b', 'a/../b']) expect(pathFault(path), path).toBe('invalid');
  expect(pathFault(`a/${'x'.repeat(NAME_MAX + 1)}`)).toBe('too long');
});
