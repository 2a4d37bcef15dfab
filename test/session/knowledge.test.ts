import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { JournalFile } from '../../src/daemon/journal-file.js';
import { ECHO, Knowledge } from '../../src/session/knowledge.js';

const one = { key: 'boot/claude/1/1', name: 'claude 1' };
const two = { key: 'boot/claude/2/2', name: 'claude 2' };
let knowledge: Knowledge;

beforeEach(() => {
  knowledge = new Knowledge();
});

const of = (session = one, tree = 1, path = 'a.md') => knowledge.of(session.key, tree, path);

test('a read settles what was known before it, and a write settles itself', () => {
  expect(of()).toBeUndefined();
  knowledge.read(one, 1, 'a.md', 10, 7, 100);
  expect(of()).toMatchObject({ settled: undefined, read: { content: 10, pid: 7, at: 100 } });
  knowledge.read(one, 1, 'a.md', 11, 8, 200);
  expect(of()).toMatchObject({ settled: { content: 10, at: 100 }, read: { content: 11, pid: 8, at: 200 } });
  knowledge.wrote(one, 1, 'a.md', 12, 7, 300);
  expect(of()).toMatchObject({ settled: { content: 12, at: 300 }, read: undefined });
  knowledge.read(one, 1, 'a.md', 13, 8, 400);
  expect(of()).toMatchObject({ settled: { content: 12 }, read: { content: 13 } });
  expect(knowledge.latest(one.key, 1, 'a.md')).toBe(13);
});

test('to have seen a file missing, or to have removed it, is knowledge too', () => {
  knowledge.missed(one, 1, 'a.md', 100);
  expect(of()).toMatchObject({ settled: { content: null, at: 100 }, read: undefined });
  knowledge.read(one, 1, 'a.md', 10, 7, 200);
  expect(of()).toMatchObject({ settled: { content: null }, read: { content: 10 } });
  knowledge.missed(one, 1, 'a.md', 300);
  expect(of()).toMatchObject({ settled: { content: null, at: 300 }, read: undefined });
  expect(knowledge.latest(one.key, 1, 'a.md')).toBeNull();
});

test('a part that was read counts where nothing else is known', () => {
  knowledge.readPart(one, 1, 'a.md', 10, 100);
  expect(of()).toMatchObject({ settled: { content: 10 }, read: undefined });
  knowledge.wrote(one, 1, 'a.md', 11, 7, 200);
  knowledge.readPart(one, 1, 'a.md', 12, 300);
  expect(of()).toMatchObject({ settled: { content: 11, at: 200 }, read: undefined });
});

test('a look of a process at what it has just written settles nothing', () => {
  knowledge.wrote(one, 1, 'a.md', 10, 7, 1000);
  knowledge.read(one, 1, 'a.md', 11, 7, 1000 + ECHO);
  expect(of()).toMatchObject({ settled: { content: 10 }, read: { content: 11 } });
  knowledge.read(one, 1, 'a.md', 12, 7, 5_000_000);
  expect(of()).toMatchObject({ settled: { content: 10 }, read: { content: 12 } });
  knowledge.read(one, 1, 'a.md', 12, 7, 8_000_000);
  expect(of()).toMatchObject({ settled: { content: 12 }, read: { content: 12 } });
});

test.each([
  ['another process', 8, 1000],
  ['the same process later', 7, 1001 + ECHO],
])('a read by %s after a save is a read', (_, pid, at) => {
  knowledge.wrote(one, 1, 'a.md', 10, 7, 1000);
  knowledge.read(one, 1, 'a.md', 11, pid, at);
  knowledge.read(one, 1, 'a.md', 12, 7, 5_000_000);
  expect(of()).toMatchObject({ settled: { content: 11 }, read: { content: 12 } });
});

test('sessions, trees and paths are kept apart', () => {
  knowledge.read(one, 1, 'a.md', 10, 7, 100);
  expect(of(two)).toBeUndefined();
  expect(of(one, 2)).toBeUndefined();
  expect(of(one, 1, 'a.md/b')).toBeUndefined();
});

test('what was noted is handed over once, the newest of each; names that were never there are not', () => {
  knowledge.read(one, 1, 'a.md', 10, 7, 100);
  knowledge.wrote(one, 1, 'a.md', 11, 7, 200);
  knowledge.read(two, 1, 'a.md', 10, 8, 300);
  knowledge.missed(two, 1, 'b.md', 300);
  knowledge.read(two, 1, 'c.md', 12, 8, 300);
  knowledge.missed(two, 1, 'c.md', 400);
  expect(knowledge.takeUnsaved()).toEqual([
    { session: one, tree: 1, path: 'a.md', content: 11, at: 200 },
    { session: two, tree: 1, path: 'a.md', content: 10, at: 300 },
    { session: two, tree: 1, path: 'c.md', content: null, at: 400 },
  ]);
  expect(knowledge.takeUnsaved()).toEqual([]);
});

test('a session that goes on with another daemon knows what was stored of it', () => {
  const asked: unknown[] = [];
  knowledge = new Knowledge((...key) => {
    asked.push(key);
    return key[2] === 'a.md' ? { content: 10, at: 50 } : undefined;
  });
  expect(of()).toMatchObject({ settled: { content: 10, at: 50 }, read: undefined });
  knowledge.read(one, 1, 'a.md', 11, 7, 100);
  expect(of()).toMatchObject({ settled: { content: 10 }, read: { content: 11 } });
  expect(asked).toEqual([[one.key, 1, 'a.md']]);
  expect(of(one, 1, 'b.md')).toBeUndefined();
});

test('knowledge goes with a file, and with a folder, that has another name now', () => {
  knowledge.read(one, 1, 'a.md', 10, 7, 100);
  knowledge.wrote(two, 1, 'dir/b.md', 11, 8, 200);
  knowledge.missed(two, 1, 'c.md', 250);
  knowledge.move(1, 'a.md', 'c.md');
  knowledge.move(1, 'dir', 'other');
  knowledge.move(2, 'other', 'no');
  expect(of()).toBeUndefined();
  expect(of(one, 1, 'c.md')).toMatchObject({ read: { content: 10 } });
  expect(of(two, 1, 'c.md')).toMatchObject({ settled: { content: null } });
  expect(of(two, 1, 'other/b.md')).toMatchObject({ settled: { content: 11 } });
  expect(knowledge.takeUnsaved().map(({ path }) => path)).toEqual(['c.md', 'other/b.md']);
});

test('what is stored after a look at a save is what was written', () => {
  knowledge.wrote(one, 1, 'a.md', 10, 7, 1000);
  knowledge.answered(one.key, 1, 'a.md', 900_000);
  knowledge.read(one, 1, 'a.md', 11, 7, 900_000 + ECHO);
  expect(knowledge.takeUnsaved()).toMatchObject([{ content: 10 }]);
});

/** Paths that are remembered at most. */
const MANY = 20_000;

test('what was used last is forgotten last, also by a process that takes over', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mend-test-'));
  try {
    const file = join(folder, 'journal');
    const journal = new JournalFile(file, false);
    const before = new Knowledge(undefined, journal);
    before.wrote(one, 1, 'a.md', 10, 7, 1);
    for (let i = 2; i < MANY; i++) before.wrote(one, 1, `${i}.md`, i, 7, i);
    before.wrote(one, 1, 'a.md', 11, 7, MANY);
    journal.flush();
    journal.close();
    const taken = new JournalFile(file, true);
    // The store has what was known a while ago.
    const after = new Knowledge(() => ({ content: 10, at: 1 }), taken);
    after.resume(MANY);
    for (let i = 0; i < 10; i++) after.wrote(one, 1, `new-${i}.md`, i, 7, MANY + 1);
    expect(after.latest(one.key, 1, 'a.md')).toBe(11);
    // Of what was forgotten, the store is the last to be asked: what is to be stored yet is newer.
    expect(after.latest(one.key, 1, '2.md')).toBe(2);
    after.takeUnsaved();
    expect(after.latest(one.key, 1, '3.md')).toBe(10);
    taken.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
