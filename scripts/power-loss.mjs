// @ts-check
// The long form of the test that cuts the power: records what the store writes and syncs during a longer life, opens what
// may be left of it at many points, and prints the figures. Build first (npm run build).
// Usage: node scripts/power-loss.mjs [cuts] [turns] [seed]     (defaults: 20000 cuts, 1000 turns, a random seed)
// Exit status: 0 when nothing was lost, 1 when something was, 2 for wrong usage.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const [cuts = '20000', turns = '1000', seed = String(Math.floor(Math.random() * 2 ** 31)), ...more] =
  process.argv.slice(2);
if (more.length > 0 || [cuts, turns, seed].some((word) => !/^\d+$/.test(word))) {
  process.stderr.write('usage: node scripts/power-loss.mjs [cuts] [turns] [seed]\n');
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'mend-power-'));
const report = join(folder, 'report.json');
try {
  const env = { ...process.env, MEND_LOG: 'warn', MEND_POWER_REPORT: report };
  Object.assign(env, { MEND_POWER_CUTS: cuts, MEND_POWER_TURNS: turns, MEND_POWER_SEED: seed });
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--configLoader', 'runner', '--reporter=dot', 'test/power/power-loss.test.ts'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' });
  if (status !== 0) process.stderr.write(`${stdout}${stderr}`);
  const figures = /** @type {Record<string, string | number>} */ (JSON.parse(readFileSync(report, 'utf8')));
  for (const [what, value] of Object.entries(figures)) process.stdout.write(`${what.padEnd(44)} ${value}\n`);
  process.exitCode = status === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
