import { describe, expect, it } from 'vitest';
import { memoryHarnesses } from '../../src/harness/registry.js';

const indexed = memoryHarnesses.flatMap(({ name, index, isLocal }) => (index ? [{ name, index, isLocal }] : []));

it('Claude Code has an index', () => {
  expect(indexed.map(({ name }) => name)).toContain('claude');
});

describe.each(indexed)('the index of $name', ({ index, isLocal }) => {
  it('is memory, and is loaded to some length', () => {
    expect(isLocal(index.file)).toBe(false);
    expect(index.file).not.toMatch(/^\/|(?:^|\/)\.\.?(?:\/|$)/);
    expect(index.lines).toBeGreaterThan(0);
    expect(index.characters).toBeGreaterThan(0);
  });

  it('names notes, and not itself', () => {
    expect(index.isNote(index.file)).toBe(false);
    expect(index.isNote('testing.md')).toBe(true);
    for (const path of ['', 'data.json', '.hidden.md', '.git/x.md', 'a/.b/c.md'])
      expect(index.isNote(path), path).toBe(false);
  });
});
