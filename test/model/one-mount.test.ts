import { expect, test } from 'vitest';
import { reconcile } from '../../src/session/reconcile.js';
import type { Merger } from '../../src/tree/merging.js';
import { COUNT, ManySchedules, SEED } from './many-schedules.js';

test(`${COUNT} random schedules on one mount keep what was promised`, async () => {
  const schedules = new ManySchedules(1);
  try {
    const failures = await schedules.play(SEED, COUNT);
    expect(failures.join('\n')).toBe('');
  } finally {
    schedules.dispose();
  }
}, 600_000);

/** Mergers that do something wrong; the check has to find out. */
const wrong: Record<string, Merger['reconcile']> = {
  'merges nothing': () => ({ base: 0, result: { kind: 'refused', reason: 'not text' } }),
  'always takes the last content read': (meeting) => reconcile({ ...meeting, bases: meeting.bases.slice(-1) }),
  'always takes the first': (meeting) => reconcile({ ...meeting, bases: meeting.bases.slice(0, 1) }),
  'knows no base': (meeting) => reconcile({ ...meeting, bases: [Buffer.alloc(0)] }),
  'keeps the head': ({ head }) => ({
    base: 0,
    result: { kind: 'merged', bytes: head, clean: true, lost: { store: 0, other: 0 }, gone: 0 },
  }),
};

test.each(Object.keys(wrong))('finds out a merge that %s', async (name) => {
  const schedules = new ManySchedules(1, () => ({ inPlace: false, reconcile: wrong[name] as Merger['reconcile'] }));
  try {
    expect(await schedules.play(1, 5_000, 1)).toEqual([expect.stringContaining('schedule: ')]);
  } finally {
    schedules.dispose();
  }
});
