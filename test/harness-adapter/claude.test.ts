import { describe, expect, it } from 'vitest';
import { claude, claudeSlug } from '../../src/harness/claude.js';

const HOME = '/home/u';

describe('slug', () => {
  it.each([
    ['/home/u/app', '-home-u-app'],
    ['/srv/my repo.v2', '-srv-my-repo-v2'],
    ['/a_b', '-a-b'],
    ['/a.b', '-a-b'],
    ['/', '-'],
    ['/e\u0301', '-e-'], // decomposed: the base letter stays
    ['/\u00e9', '--'],
    ['/\u{1f600}', '---'], // a pair of units
    ['/UPPER9', '-UPPER9'],
  ])('%j', (path, slug) => expect(claudeSlug(path)).toBe(slug));

  it('keeps 200 units and hashes from 201 on', () => {
    const path = `/${'x'.repeat(199)}`;
    expect(claudeSlug(path)).toBe(`-${'x'.repeat(199)}`);
    expect(claudeSlug(`${path}y`)).toMatch(/^-x{199}-[0-9a-z]+$/);
  });

  it('hashes the whole path as Java does', () => {
    // Java: "hello".hashCode() is 99162322; NULs in front add nothing to it.
    expect(claudeSlug(`${'\0'.repeat(200)}hello`)).toBe(`${'-'.repeat(200)}-${(99162322).toString(36)}`);
  });

  it('takes the absolute value of the least hash', () => {
    // 'polygenelubricants' has the Java hash -2^31.
    const path = `${'\0'.repeat(200)}polygenelubricants`;
    expect(claudeSlug(path)).toBe(`${'-'.repeat(200)}-zik0zk`);
  });
});

describe('memory folder', () => {
  const folder = (env: Record<string, string | undefined>) =>
    claude.memoryFolder({ root: '/srv/app', env: { HOME, ...env }, home: undefined });
  it.each([
    ['default', {}, '/home/u/.claude/projects/-srv-app/memory'],
    ['empty', { CLAUDE_CONFIG_DIR: '' }, '/home/u/.claude/projects/-srv-app/memory'],
    ['set', { CLAUDE_CONFIG_DIR: '/etc/cc' }, '/etc/cc/projects/-srv-app/memory'],
    ['untidy', { CLAUDE_CONFIG_DIR: '/etc/cc//x/../y/' }, '/etc/cc/y/projects/-srv-app/memory'],
    ['relative', { CLAUDE_CONFIG_DIR: 'cc', PWD: '/srv/app/sub' }, '/srv/app/sub/cc/projects/-srv-app/memory'],
    ['a tilde no shell expanded', { CLAUDE_CONFIG_DIR: '~/cc', PWD: '/w' }, '/w/~/cc/projects/-srv-app/memory'],
    ['decomposed', { CLAUDE_CONFIG_DIR: '/cfge\u0301' }, '/cfg\u00e9/projects/-srv-app/memory'],
  ])('%s', (_, env, expected) => expect(folder(env)).toBe(expected));

  it('refuses a relative folder when nothing says from where', () => {
    expect(() => folder({ CLAUDE_CONFIG_DIR: 'cc' })).toThrow(/absolute/);
    expect(() => folder({ CLAUDE_CONFIG_DIR: 'cc', PWD: 'x' })).toThrow(/absolute/);
  });
});

it('keeps its own lock and temporary files local', () => {
  for (const path of ['.consolidate-lock', 'sub/.consolidate-lock', '.MEMORY.md.backfill-12-ab.tmp', 'n.md.tmp.1.0f']) {
    expect(claude.isLocal(path), path).toBe(true);
  }
  for (const path of ['consolidate-lock', '.consolidate-lock.md', '.MEMORY.md.from.json']) {
    expect(claude.isLocal(path), path).toBe(false);
  }
});
