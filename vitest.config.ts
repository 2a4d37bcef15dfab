import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** The check against a real harness downloads it; it is asked for by `scripts/test --harness`. */
const withHarness = process.env['MEND_HARNESS'] === '1';

export default defineConfig({
  // A checkout may be read-only for the person who tests it.
  cacheDir: join(tmpdir(), `mend-vite-${process.getuid?.() ?? 0}`),
  test: {
    include: withHarness ? ['test/harness/**/*.test.ts'] : ['test/**/*.test.ts'],
    exclude: withHarness ? [] : ['test/harness/**'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Many tests wait more than they work.
    maxWorkers: 3,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});
