import { expect, test } from 'vitest';
import { COUNT, ManySchedules, SEED } from './many-schedules.js';

/** How often the process dies among all the places where it may: several times in a schedule. */
const ONE_IN = 60;
/** Schedules: each death takes as long as dozens of calls. */
const PLAYED = Math.ceil(COUNT / 100);

test.each([1, 2] as const)(
  `${PLAYED} random schedules on %i mount(s) keep what was promised, whenever the process that serves dies`,
  async (mounts) => {
    const schedules = new ManySchedules(mounts, undefined, ONE_IN);
    try {
      const failures = await schedules.play(SEED + 2_000, PLAYED);
      expect(failures.join('\n')).toBe('');
    } finally {
      schedules.dispose();
    }
  },
  600_000,
);
