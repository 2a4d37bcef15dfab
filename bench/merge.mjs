// @ts-check
// Measures merges of 1 MB a side, each input hard for another reason, beside `git merge-file --union` and node-diff3.
// Usage: npm run build && node bench/merge.mjs [--runs 5] [--dist folder of the built program]
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os, { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { hardInputs } from './lib/merge-inputs.mjs';
import { median } from './lib/stats.mjs';

/** A peer that has not ended after this many milliseconds is stopped. */
const patience = 10_000;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    dist: { type: 'string', default: join(import.meta.dirname, '../dist') },
  },
});
const runs = Number(values.runs);
const { merge } = await import(resolve(values.dist, 'merge/merge.js'));
const options = { path: 'note.md', maintained: [], newer: 'other', from: { host: 'bench', date: '2026-01-01' } };

/** node-diff3 runs in a process of its own, so that it can be stopped. Its own start is not counted. */
const peer = `
  import { diff3Merge } from 'node-diff3';
  import { readFileSync } from 'node:fs';
  const [store, base, other] = process.argv.slice(1).map((file) => readFileSync(file, 'latin1').split('\\n'));
  const start = performance.now();
  diff3Merge(store, base, other, { excludeFalseConflicts: true });
  console.log(performance.now() - start);
`;

/** @param {() => unknown} work @returns {number} milliseconds */
function time(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** @param {() => unknown} work @returns {number} milliseconds of processor time, those of the engine's threads included */
function timeProcessor(work) {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** @param {string[]} files @returns {number} milliseconds, Infinity when it was stopped */
function timeGit(files) {
  let stopped = false;
  const elapsed = time(() => {
    const { error, status } = spawnSync('git', ['merge-file', '-p', '--union', ...files], {
      timeout: patience,
      maxBuffer: 1 << 26,
    });
    if (error !== undefined && !('code' in error && error.code === 'ETIMEDOUT')) throw error;
    if (error === undefined && status !== 0) throw new Error(`git ended with ${status}`);
    stopped = error !== undefined;
  });
  return stopped ? Number.POSITIVE_INFINITY : elapsed;
}

/** @param {string[]} files @returns {number} milliseconds, Infinity when it was stopped or ran out of memory */
function timePeer(files) {
  const args = ['--input-type=module', '-e', peer, ...files];
  const result = spawnSync(process.execPath, args, { timeout: patience, encoding: 'utf8', cwd: import.meta.dirname });
  return result.status === 0 ? Number(result.stdout) : Number.POSITIVE_INFINITY;
}

/** @param {number[]} times */
function show(times) {
  /** @param {number} value */
  const one = (value) => (Number.isFinite(value) ? value.toFixed(0) : `> ${patience}`);
  return `${one(median(times))} / ${one(Math.max(...times))}`;
}

/** @param {number[]} theirs @param {number[]} ours */
function ratio(theirs, ours) {
  const value = Math.min(median(theirs), patience) / median(ours);
  return `${Number.isFinite(median(theirs)) ? '' : '> '}${value < 10 ? value.toFixed(1) : value.toFixed(0)}`;
}

const folder = mkdtempSync(join(tmpdir(), 'mend-bench-merge-'));
try {
  const cpu = `${os.cpus()[0]?.model.trim()}, ${os.cpus().length} cores`;
  console.log(`${cpu}, Node.js ${process.versions.node}, ${runs} runs, load ${os.loadavg()[0]?.toFixed(1)} before\n`);
  const heads = ['input, 1 MB a side', 'mend ms, p50 / max', 'its processor ms', 'git merge-file ms', 'git : mend'];
  console.log(`| ${[...heads, 'node-diff3 ms', 'node-diff3 : mend'].join(' | ')} |`);
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  let worst = 0;
  let worstProcessor = 0;
  for (const [name, triple] of hardInputs()) {
    const files = ['store', 'base', 'other'].map((side) => join(folder, side));
    [triple.store, triple.base, triple.other].forEach((bytes, index) => {
      writeFileSync(files[index] ?? '', bytes);
    });
    /** @type {number[][]} */
    const [mend = [], processor = [], git = [], node = []] = [[], [], [], []];
    for (let run = 0; run < runs; run++) {
      processor.push(timeProcessor(() => mend.push(time(() => merge(triple, options)))));
      if (git.at(-1) !== Number.POSITIVE_INFINITY) git.push(timeGit(files));
      if (node.at(-1) !== Number.POSITIVE_INFINITY) node.push(timePeer(files));
    }
    worst = Math.max(worst, ...mend);
    worstProcessor = Math.max(worstProcessor, ...processor);
    const cells = [name, show(mend), show(processor), show(git), ratio(git, mend), show(node), ratio(node, mend)];
    console.log(`| ${cells.join(' | ')} |`);
  }
  console.log(`\nslowest merge: ${worst.toFixed(0)} ms, ${worstProcessor.toFixed(0)} ms of processor time`);
  console.log(`load ${os.loadavg()[0]?.toFixed(1)} after`);
} finally {
  rmSync(folder, { recursive: true });
}
