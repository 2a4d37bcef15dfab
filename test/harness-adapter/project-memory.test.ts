import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { projectMemory } from '../../src/harness/project-memory.js';
import { projectSlug, slugsOf } from '../../src/harness/project-slug.js';

const digits = (path: string): string =>
  execFileSync('sh', ['-c', 'printf %s "$1" | sha256sum | cut -c1-12', 'sh', path], { encoding: 'utf8' }).trim();

describe('slug', () => {
  it.each([
    ['/home/u/app', 'app'],
    ['/home/u/Payments-API_2.0', 'Payments-API_2.0'],
    ['/srv/my  repo (old)', 'my-repo-old'],
    ['/srv/-x-', 'x'],
    ['/srv/..hidden', 'hidden'],
    ['/srv/gärten', 'g-rten'],
    ['/srv/花园', 'project'],
    ['/srv/a\nb', 'a-b'],
    ['/', 'project'],
    [`/srv/${'x'.repeat(64)}y`, 'x'.repeat(64)],
    [`/srv/${'x'.repeat(63)}-y`, 'x'.repeat(63)],
  ])('of %j begins with %s', (path, name) => {
    expect(projectSlug(path)).toBe(`${name}-${digits(path)}`);
    expect(slugsOf(path).test(projectSlug(path))).toBe(true);
  });

  it('tells two folders of one name apart, and one folder of two spellings not', () => {
    expect(projectSlug('/a/app')).not.toBe(projectSlug('/b/app'));
    expect(slugsOf('/a/app').test(projectSlug('/b/app'))).toBe(false);
    expect(slugsOf('/a/app').test(`My.App-${digits('/a/app')}`)).toBe(true);
    for (const name of [digits('/a/app'), `app-${digits('/a/app')}x`, `a/b-${digits('/a/app')}`])
      expect(slugsOf('/a/app').test(name), name).toBe(false);
  });
});

describe('folders', () => {
  const place = { root: '/srv/app', env: { HOME: '/home/u', CODEX_HOME: '/other' }, home: undefined };
  it('lie beside what Codex keeps itself, wherever that is', () => {
    expect(projectMemory.memoryFolder(place)).toBe(`/home/u/.codex/memory/projects/app-${digits('/srv/app')}`);
    expect(projectMemory.archive?.memoryFolder(place)).toBe(`/home/u/.codex/memory/archive/app-${digits('/srv/app')}`);
  });
});

describe('the lines that say which checkout a note is of', () => {
  const pathsIn = (text: string) => projectMemory.origin?.pathsIn('memory.md', text);
  it.each([
    ['Project: /a', ['/a']],
    ['# Project memory\n\nProject: /a b \nUpdated: x\nProject:/c\n\n## S\nProject: /d\n', ['/a b ', '/c']],
    ['# T\r\nProject: /a\r\n', ['/a']],
    ['project: /a\n- Project: /b\n  Project: /c\n', []],
    ['Project:\n', []],
    ['Project: \t\n', []],
    ['', []],
  ])('%j', (text, paths) => expect(pathsIn(text)).toEqual(paths));

  it('are asked of the note alone, and in the archive where there are any', () => {
    expect(projectMemory.origin?.pathsIn('other.md', 'x')).toBeUndefined();
    expect(projectMemory.archive?.origin?.pathsIn('memory-1.md', 'x')).toBeUndefined();
    expect(projectMemory.archive?.origin?.pathsIn('memory-1.md', 'Project: /a')).toEqual(['/a']);
    expect(projectMemory.archive?.origin?.pathsIn('deep/memory-1.md', 'Project: /a')).toBeUndefined();
  });

  it.each([
    ['# T\n\nProject: /a\n\n## S\n', '# T\n\nProject: /a\nProject: /n\n\n## S\n'],
    ['# T\r\nProject: /a\r\n', '# T\r\nProject: /a\r\nProject: /n\r\n'],
    ['Project: /a', 'Project: /a\nProject: /n'],
    [
      'Project: /a\nUpdated: 1\nProject: /b\n## S\nProject: /c\n',
      'Project: /a\nUpdated: 1\nProject: /b\nProject: /n\n## S\nProject: /c\n',
    ],
    ['# T\n', undefined],
  ])('one more in %j', (text, expected) =>
    expect(projectMemory.origin?.withPath?.('memory.md', text, '/n')).toBe(expected),
  );
});
