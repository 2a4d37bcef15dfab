import { mkdtempSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { fileTime } from '../../src/import/file-time.js';

test.each([0, 1, 999_999, 1_764_520_000_756_013, 1_764_520_000_756_999, -1, -1_000_001, -157_766_400_500_000])(
  'the time %i is set to the microsecond',
  (micros) => {
    const file = join(mkdtempSync(join(inject('runFolder'), 'time-')), 'file');
    writeFileSync(file, '');
    utimesSync(file, fileTime(micros), fileTime(micros));
    expect(statSync(file, { bigint: true }).mtimeNs / 1000n).toBe(BigInt(micros));
  },
);
