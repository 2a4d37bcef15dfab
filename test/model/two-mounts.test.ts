import { expect, test } from 'vitest';
import { COUNT, ManySchedules, SEED } from './many-schedules.js';

test(`${COUNT} random schedules on two mounts of one folder keep what was promised`, async () => {
  const schedules = new ManySchedules(2);
  try {
    const failures = await schedules.play(SEED + 1_000, COUNT);
    expect(failures.join('\n')).toBe('');
  } finally {
    schedules.dispose();
  }
}, 600_000);
