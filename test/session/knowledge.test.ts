import { beforeEach, expect, test } from 'vitest';
import { Knowledge } from '../../src/session/knowledge.js';

const one = { key: 'boot/claude/1/1', name: 'claude 1' };
const two = { key: 'boot/claude/2/2', name: 'claude 2' };
let knowledge: Knowledge;

beforeEach(() => {
  knowledge = new Knowledge();
});

test('a session knows what it was served last, or wrote after it', () => {
  expect(knowledge.of(one.key, 1, 'a.md')).toBe(undefined);
  knowledge.served(one, 1, 'a.md', 10);
  expect(knowledge.of(one.key, 1, 'a.md')).toEqual({ content: 10, wrote: undefined });
  knowledge.wrote(one, 1, 'a.md', 11);
  expect(knowledge.of(one.key, 1, 'a.md')).toEqual({ content: 11, wrote: 11 });
  knowledge.served(one, 1, 'a.md', 12);
  expect(knowledge.of(one.key, 1, 'a.md')).toEqual({ content: 12, wrote: 11 });
});

test('to have seen a file missing is knowledge too', () => {
  knowledge.served(one, 1, 'a.md', null);
  expect(knowledge.of(one.key, 1, 'a.md')).toEqual({ content: null, wrote: undefined });
});

test('sessions, trees and paths are kept apart', () => {
  knowledge.served(one, 1, 'a.md', 10);
  expect(knowledge.of(two.key, 1, 'a.md')).toBe(undefined);
  expect(knowledge.of(one.key, 2, 'a.md')).toBe(undefined);
  expect(knowledge.of(one.key, 1, 'a.md/b')).toBe(undefined);
});

test('what was noted is handed over once, the newest of each', () => {
  knowledge.served(one, 1, 'a.md', 10);
  knowledge.wrote(one, 1, 'a.md', 11);
  knowledge.served(two, 1, 'a.md', 10);
  expect(knowledge.takeUnsaved()).toEqual([
    { session: one.key, name: one.name, tree: 1, path: 'a.md', known: { content: 11, wrote: 11 } },
    { session: two.key, name: two.name, tree: 1, path: 'a.md', known: { content: 10, wrote: undefined } },
  ]);
  expect(knowledge.takeUnsaved()).toEqual([]);
});

test('to be served the same again is nothing new', () => {
  knowledge.served(one, 1, 'a.md', 10);
  knowledge.takeUnsaved();
  knowledge.served(one, 1, 'a.md', 10);
  expect(knowledge.takeUnsaved()).toEqual([]);
});
