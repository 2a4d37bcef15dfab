import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { nameFault } from '../../src/project/name.js';
import { shellWord, shellWords } from '../../src/project/shell-word.js';

describe('a name for a project', () => {
  it.each(['app', 'owner/app', 'my app', 'a"b', "it's", '-x', 'é', '🌱', '..', 'a'.repeat(200)])('can be %j', (name) =>
    expect(nameFault(name)).toBeUndefined(),
  );

  it.each([
    ['', /is empty/],
    [' ', /blank or a slash/],
    [' app', /blank or a slash/],
    ['app ', /blank or a slash/],
    ['/app', /blank or a slash/],
    ['app/', /blank or a slash/],
    ['/', /blank or a slash/],
    ['a\u00a0', /blank or a slash/],
    ['a\nb', /control characters/],
    ['a\u001b[31m', /control characters/],
    ['a\u2028b', /control characters/],
    ['a\u202eb', /control characters/],
    ['é'.repeat(101), /longer than 200 bytes/],
  ] as const)('cannot be %j', (name, fault) => expect(nameFault(name)).toMatch(fault));
});

describe('a word for a shell', () => {
  const words = [
    'app',
    'a b',
    "it's",
    '"q"',
    '$HOME',
    '`id`',
    '-x',
    '!',
    '\\',
    '~',
    '*',
    '',
    "'",
    'é',
    '🌱',
    '#a',
    'a;b',
  ];

  it.each(words)('%j is read as it was', (word) => {
    const read = execFileSync('sh', ['-c', `printf %s ${shellWord(word)}`], { encoding: 'utf8' });
    expect(read).toBe(word);
  });

  it('is never taken for an option', () => {
    expect(shellWords('a', 'b c')).toBe("a 'b c'");
    expect(shellWords('-x', 'b')).toBe('-- -x b');
  });
});
