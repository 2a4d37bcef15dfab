import { afterAll, beforeAll, expect, test } from 'vitest';
import { Random } from '../model/random.js';
import { somebody } from '../mounted/stage.js';
import { withDeadline } from '../support/mounted.js';
import type { TestUser } from '../support/users.js';
import { choosePoints, cutPower, differences, keepsPromises, type Left, type Recorded } from './cuts.js';
import { type Names, snapshotOf } from './disk.js';
import { type Entry, readRecord } from './record.js';
import { RecordedStage } from './recorded-stage.js';
import { live } from './workload.js';

/** How often the power is cut, and how much is done before; the long form is scripts/power-loss.mjs. */
const CUTS = Number(process.env['MEND_POWER_CUTS'] ?? 1000);
const TURNS = Number(process.env['MEND_POWER_TURNS'] ?? 150);
const SEED = Number(process.env['MEND_POWER_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

let user: TestUser | undefined;
let stage: RecordedStage;
let recorded: Recorded;

beforeAll(async () => {
  const somebodyElse = somebody();
  user = somebodyElse;
  stage = await RecordedStage.open(somebodyElse);
  const begin = snapshotOf(stage.roots);
  await withDeadline(240, [user.home], () => live(stage, { turns: TURNS, kills: 3 }));
  const entries = readRecord(stage.record);
  const [root, , plain] = stage.roots;
  recorded = { entries, begin, root, store: stage.stage.store, marks: stage.marks, plain };
}, 300_000);

afterAll(async () => {
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
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    console.log(
      `seed ${SEED}: ${count} cuts of ${recorded.entries.length} calls in ${seconds} s, ${faults.length} with faults`,
    );
    expect(faults.slice(0, 5)).toEqual([]);
  },
  300_000,
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
