import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Random } from '../model/random.js';
import { somebody } from '../mounted/stage.js';
import { withDeadline } from '../support/mounted.js';
import type { TestUser } from '../support/users.js';
import { choosePoints, cutPower, differences, keepsPromises, type Left, type Recorded } from './cuts.js';
import { type Names, snapshotOf } from './disk.js';
import { figuresOf } from './figures.js';
import { type Entry, readRecord } from './record.js';
import { RecordedStage } from './recorded-stage.js';
import { live } from './workload.js';

/** How often the power is cut, and how much is done before; the long form is scripts/power-loss.mjs. */
const CUTS = Number(process.env['MEND_POWER_CUTS'] ?? 1000);
const TURNS = Number(process.env['MEND_POWER_TURNS'] ?? 150);
const SEED = Number(process.env['MEND_POWER_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Time that the work, and each cut, may take on a busy machine. */
const WORK_SECONDS = 240 + TURNS;
const CUT_SECONDS = 0.6;
/** File that the figures are written to, for scripts/power-loss.mjs. */
const REPORT = process.env['MEND_POWER_REPORT'];
const figures: Record<string, number> = { seed: SEED };

let user: TestUser | undefined;
let stage: RecordedStage;
let recorded: Recorded;

beforeAll(
  async () => {
    user = somebody();
    stage = await RecordedStage.open(user);
    const begin = snapshotOf(stage.roots);
    await withDeadline(WORK_SECONDS, [user.home], () =>
      live(stage, { turns: TURNS, kills: 3 + Math.floor(TURNS / 100) }),
    );
    const entries = readRecord(stage.record);
    const [root, , plain] = stage.roots;
    Object.assign(figures, figuresOf(entries));
    recorded = { entries, begin, root, store: stage.stage.store, marks: stage.marks, plain };
  },
  (WORK_SECONDS + 60) * 1000,
);

afterAll(async () => {
  if (REPORT !== undefined) writeFileSync(REPORT, JSON.stringify(figures));
  else console.log(figures);
  await (stage?.stage.close() ?? user?.remove());
});

test('the record has everything that was done to the files', () => {
  expect(differences(recorded)).toEqual([]);
});

test.each<[Names, number]>([
  ['strict', Math.ceil(CUTS / 2)],
  ['ordered', Math.floor(CUTS / 2)],
])(
  'a store is whole and has what was synced, wherever the power goes, with %s names (%i times)',
  async (names, count) => {
    const random = new Random(SEED);
    const begin = performance.now();
    const points = choosePoints(recorded.entries, count, random);
    const faults = await cutPower(recorded, names, points, random, (left) => keepsPromises(recorded, left));
    figures[`cuts, ${names} names`] = count;
    figures[`of these with a broken promise, ${names} names`] = faults.length;
    figures[`seconds for them, ${names} names`] = Math.round((performance.now() - begin) / 1000);
    expect(faults.slice(0, 5)).toEqual([]);
  },
  300_000 + CUTS * CUT_SECONDS * 1000,
);

/** Stores that do not sync something: the same calls without some of the syncs. */
test.each<[string, (entry: Entry) => boolean]>([
  ['the log when it is asked to', ({ path, length }) => path.endsWith('-wal') && length === 1],
  ['the log before it is moved into the database', ({ path, length }) => path.endsWith('-wal') && length === 0],
  ['the database', ({ path }) => path.endsWith('/store.db')],
  ['its folder', ({ path }) => path === recorded.store],
  ['what it writes back', ({ path }) => path.includes('/.mend.tmp.')],
])(
  'the check finds a store that does not sync %s',
  async (_, isLeftOut) => {
    const entries = recorded.entries.filter((entry) => !entry.op.startsWith('sync') || !isLeftOut(entry));
    const random = new Random(SEED);
    const first = recorded.entries.findIndex((entry) => entry.op.startsWith('sync') && isLeftOut(entry));
    const points = choosePoints(entries.slice(first), 300, random).map((point) => point + first);
    const check = (left: Left) => keepsPromises(recorded, left);
    expect(await cutPower({ ...recorded, entries }, 'strict', points, random, check, 1)).toHaveLength(1);
  },
  120_000,
);
