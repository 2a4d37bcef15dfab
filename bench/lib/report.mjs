import { allSeries } from './rows.mjs';
import { summarise } from './stats.mjs';
import { judge } from './targets.mjs';

/**
 * @typedef {import('./targets.mjs').Table} Table
 *
 * @typedef {object} Report
 * @property {Table} table
 * @property {string} markdown
 * @property {number} missed how many targets were missed
 */

/** @param {string[]} head @param {string[][]} lines @param {number} texts how many columns are not numbers */
function markdownTable(head, lines, texts) {
  const all = [head, ...lines];
  const widths = head.map((_, column) => Math.max(3, ...all.map((line) => line[column]?.length ?? 0)));
  const pad = (/** @type {string} */ cell, /** @type {number} */ column) =>
    column < texts ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const rule = widths.map((width, column) => (column < texts ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [head.map(pad), rule, ...lines.map((line) => line.map(pad))]
    .map((line) => `| ${line.join(' | ')} |`)
    .join('\n');
}

/** @param {number} ns */
function micros(ns) {
  const us = ns / 1000;
  return us >= 100 ? Math.round(us).toLocaleString('en') : us.toFixed(us >= 10 ? 1 : 2);
}

/** @param {number} value */
function count(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
}

/** @param {number | undefined} a @param {number | undefined} b */
function ratio(a, b) {
  return a === undefined || b === undefined ? '–' : (a / b).toFixed(2);
}

/** @param {import('./measure.mjs').Measured} measured @returns {Table} */
export function summariseAll(measured) {
  return new Map(
    [...measured.rounds].map(([id, bySubject]) => [
      id,
      new Map([...bySubject].map(([name, rounds]) => [name, summarise(rounds)])),
    ]),
  );
}

/** @param {Table} table @param {string[]} subjects */
function mainTable(table, subjects) {
  const lines = allSeries.flatMap(({ id, title }) =>
    subjects.map((name, index) => {
      const s = table.get(id)?.get(name);
      if (s === undefined) return [index === 0 ? title : '', name, '–', '–', '–', '–'];
      const share = ratio(s.opsPerSecond, table.get(id)?.get('plain')?.opsPerSecond);
      return [index === 0 ? title : '', name, micros(s.p50), micros(s.p99), count(s.opsPerSecond), share];
    }),
  );
  return markdownTable(['row', 'subject', 'p50 µs', 'p99 µs', 'operations/s', 'to plain'], lines, 2);
}

/** @param {Table} table @param {string[]} peers */
function ratioTable(table, peers) {
  const lines = allSeries.map(({ id, title }) => {
    const of = (/** @type {string} */ name) => table.get(id)?.get(name)?.opsPerSecond;
    return [title, ...peers.map((peer) => ratio(of('mend'), of(peer)))];
  });
  return markdownTable(['row', ...peers.map((peer) => `mend / ${peer}`)], lines, 1);
}

/** @param {Table} table @param {string[]} subjects */
function noiseTable(table, subjects) {
  const lines = subjects.flatMap((name) => {
    const s = table.get('getattr')?.get(name);
    if (s === undefined) return [];
    const rounds = `${micros(Math.min(...s.callP50))}–${micros(Math.max(...s.callP50))}`;
    return [[name, ...[s.least, s.p10, s.p50, s.p90, s.p99, s.most].map(micros), rounds]];
  });
  return markdownTable(['subject', 'least', 'p10', 'p50', 'p90', 'p99', 'most', 'p50 of the calls'], lines, 1);
}

/**
 * Writes everything that was measured as one Markdown document.
 * @param {import('./measure.mjs').Measured} measured
 * @param {object} about
 * @param {[string, string][]} about.machine
 * @param {[string, string][]} about.versions subject and version, or why it is absent
 * @param {string[]} about.subjects those measured
 * @param {number} about.rounds
 * @param {boolean} about.quick
 * @param {string | null} about.notes prose on what was missed
 * @returns {Report}
 */
export function makeReport(measured, about) {
  const table = summariseAll(measured);
  const verdicts = judge(table);
  const missed = verdicts.filter(({ verdict }) => verdict === 'missed').length;
  const peers = about.subjects.filter((name) => name !== 'mend');
  const torn = about.subjects.map((name) => `${name} ${measured.torn.get(name) ?? 0}`).join(', ');
  const parts = [
    '# Benchmark results',
    'Written by `npm run bench`; the numbers are of one run on one machine, all subjects interleaved.',
    markdownTable(['machine', ''], about.machine, 2),
    markdownTable(['subject', 'version'], about.versions, 2),
    `${about.rounds} rounds${about.quick ? ' (quick: too few operations to judge by)' : ''}, a fresh mount in each.`,
    '## What one operation is',
    markdownTable(
      ['row', 'operation'],
      [...new Set(allSeries.map(({ row }) => row))].map((r) => [r.title, r.operation]),
      2,
    ),
    'A first pass meets a mount that was made a moment ago; the disk cache of what lies beneath is warm for all.',
    '## Latency and rate',
    'Percentiles are over the operations of all calls of the client, rates are the median of the calls; `to plain` compares rates.',
    mainTable(table, about.subjects),
    `Reads of the eight readers that saw an empty or a mixed file: ${torn}.`,
  ];
  if (about.subjects.includes('mend')) {
    parts.push('## Ratios', 'Operations a second of mend over those of each peer: above 1, mend is ahead.');
    parts.push(ratioTable(table, peers));
  }
  parts.push(
    '## Noise',
    'The getattr round trip in µs: how steady the machine was.',
    noiseTable(table, about.subjects),
  );
  if (about.subjects.includes('mend')) {
    const lines = verdicts.map(({ target, verdict, numbers }) => [target, verdict, numbers]);
    parts.push('## Targets', markdownTable(['target', 'verdict', 'measured'], lines, 3));
    if (missed > 0) {
      parts.push('## Why targets are missed', about.notes ?? 'Not yet explained: `bench/notes.md` is the place.');
    }
  }
  return { table, markdown: `${parts.join('\n\n')}\n`, missed };
}
