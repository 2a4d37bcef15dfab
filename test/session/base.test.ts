import { describe, expect, test } from 'vitest';
import { candidateBases, explainingBase, type Save } from '../../src/session/base.js';
import { AT_ONCE, Knowledge } from '../../src/session/knowledge.js';
import { reconcile } from '../../src/session/reconcile.js';

const session = { key: 'boot/claude/1/1', name: 'claude 1' };
const SECOND = 1_000_000;
/** The process of the harness, and one that it starts later. */
const [HARNESS, CHILD] = [100, 200];

/** Contents by their ids. */
const V1 = '- one\n- two\n';
const V2 = '- one\n- two\n- foreign\n';
const contents = new Map<number | null, string>([
  [null, ''],
  [1, V1],
  [2, V2],
  [3, '- one\n- two\n- mine\n'],
]);

type Step = (knowledge: Knowledge, at: number) => void;
const read =
  (content: number | null, pid = HARNESS): Step =>
  (knowledge, at) =>
    knowledge.read(session, 1, 'MEMORY.md', content, pid, at);
const wrote =
  (content: number): Step =>
  (knowledge, at) =>
    knowledge.wrote(session, 1, 'MEMORY.md', content, HARNESS, at);
const missed: Step = (knowledge, at) => knowledge.missed(session, 1, 'MEMORY.md', at);

interface Case {
  readonly name: string;
  /** What the session did, by the time in seconds. */
  readonly steps: Readonly<Record<number, Step>>;
  readonly save?: Partial<Save> & { readonly seconds?: number };
  readonly text: string;
  readonly head: string;
  /** Ids of the bases that come into question. */
  readonly bases: readonly (number | null)[];
  readonly result: string;
}

const cases: Case[] = [
  {
    name: 'Write after an old read: the re-read just before it is not what it was made from',
    steps: { 1: read(1), 10: read(2) },
    text: '- one\n- two\n- mine\n',
    head: V2,
    bases: [1, 2],
    result: '- one\n- two\n- foreign\n- mine\n',
  },
  {
    name: 'Edit after an old read: the text is made from what was read just before',
    steps: { 1: read(1), 10: read(2) },
    text: '- one\n- TWO\n- foreign\n',
    head: V2,
    bases: [1, 2],
    result: '- one\n- TWO\n- foreign\n',
  },
  {
    name: "a deliberate removal of another's line after really reading it sticks, whatever is read again before",
    steps: { 1: read(1), 5: read(2), 10: read(2) },
    text: V1,
    head: V2,
    bases: [2],
    result: V1,
  },
  {
    name: 'the same when both reads come just before the save',
    steps: { 1: read(1), 9: read(2), 10: read(2) },
    text: V1,
    head: V2,
    bases: [1, 2],
    result: V1,
  },
  {
    name: 'Write after an old read by a program that reads twice before it saves',
    steps: { 1: read(1), 9: read(2), 10: read(2) },
    text: '- one\n- two\n- mine\n',
    head: V2,
    bases: [1, 2],
    result: '- one\n- two\n- foreign\n- mine\n',
  },
  {
    name: 'a read that is not followed by the save at once counts, also when it is the only one',
    steps: { 1: read(1), 10: read(2) },
    save: { begun: 10 * SECOND + AT_ONCE + 1 },
    text: V1,
    head: V2,
    bases: [2],
    result: V1,
  },
  {
    name: 'another process of the session read it: that was no preparation of this save',
    steps: { 1: read(1), 10: read(2, CHILD) },
    text: V1,
    head: V2,
    bases: [2],
    result: V1,
  },
  {
    name: 'sed -i: an editor of streams makes its text out of what it reads',
    steps: { 1: read(1), 10: read(2, CHILD) },
    save: { pid: CHILD, edits: true },
    text: '- one\n- TWO\n',
    head: V2,
    bases: [2],
    result: '- one\n- TWO\n',
  },
  {
    name: 'a script that reads, and writes what its session had in mind before',
    steps: { 1: read(1), 10: read(2, CHILD) },
    save: { pid: CHILD },
    text: '- one\n- two\n- mine\n',
    head: V2,
    bases: [1, 2],
    result: '- one\n- two\n- foreign\n- mine\n',
  },
  {
    name: 'saving twice after a merge: the base is what the session wrote, not the merged head',
    steps: { 1: read(1), 10: read(1), 11: wrote(3), 20: read(2) },
    text: '- one\n- two\n- mine\n- mine too\n',
    head: '- one\n- two\n- foreign\n- mine\n',
    bases: [3, 2],
    result: '- one\n- two\n- foreign\n- mine\n- mine too\n',
  },
  {
    name: 'blind overwrite: a session that never saw the file has no base',
    steps: {},
    text: '- other\n',
    head: V1,
    bases: [],
    result: '- other\n',
  },
  {
    name: 'blind overwrite with a re-read: there is nothing else that it could be made from',
    steps: { 10: read(1) },
    text: '- other\n',
    head: V1,
    bases: [1],
    result: '- other\n',
  },
  {
    name: 'both create: who saw the file missing has an empty base',
    steps: { 1: missed },
    text: '- mine\n',
    head: '- theirs\n',
    bases: [null],
    result: '- theirs\n- mine\n',
  },
  {
    name: 'both create, with a re-read of what the other made',
    steps: { 1: missed, 10: read(1) },
    text: '- mine\n',
    head: V1,
    bases: [null, 1],
    result: '- one\n- two\n- mine\n',
  },
  {
    name: 'a file that is emptied after an old read keeps the line that came since',
    steps: { 1: read(1), 10: read(2) },
    text: '',
    head: V2,
    bases: [1, 2],
    result: '- foreign\n',
  },
];

describe.each(cases)('$name', ({ steps, save, text, head, bases, result }) => {
  const knowledge = new Knowledge();
  for (const [seconds, step] of Object.entries(steps)) step(knowledge, Number(seconds) * SECOND);
  const known = knowledge.of(session.key, 1, 'MEMORY.md');
  const found = candidateBases(known, { pid: HARNESS, begun: 10 * SECOND + 20_000, edits: false, ...save });

  test('candidates', () => {
    expect(found).toEqual(bases);
  });

  test('merged', () => {
    if (found.length === 0) {
      expect(result).toBe(text);
      return;
    }
    const options = {
      path: 'MEMORY.md',
      maintained: [],
      newer: 'other',
      from: { host: 'h', date: '2026-01-02' },
    } as const;
    const meeting = { bases: found.map((id) => Buffer.from(contents.get(id) ?? '?')), head: Buffer.from(head) };
    const reread = (known?.read?.times ?? 0) > 1;
    const reconciled = reconcile({ ...meeting, reread, text: Buffer.from(text), options });
    expect(reconciled.result.kind === 'merged' && reconciled.result.bytes.toString()).toBe(result);
  });
});

test('of two bases that explain a text equally well the last is taken', () => {
  const [one, two] = [Buffer.from('a\nb\n'), Buffer.from('a\nc\n')];
  expect(explainingBase([one, two], Buffer.from('a\n'))).toBe(1);
  expect(explainingBase([two, one], Buffer.from('a\n'))).toBe(1);
  expect(explainingBase([one, two], one)).toBe(0);
});
