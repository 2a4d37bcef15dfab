import { allSeries } from './rows.mjs';

/**
 * @typedef {import('./stats.mjs').Summary} Summary
 * @typedef {Map<string, Map<string, Summary>>} Table series id → subject → summary
 *
 * @typedef {object} Verdict
 * @property {string} target what is to be reached
 * @property {'reached' | 'missed' | 'not measured'} verdict
 * @property {string} numbers what was measured
 */

/**
 * What mend is to reach. `ratio` is mend's value over the peer's, of operations a second (more is better) or of the
 * median latency (less is better).
 * @type {{ target: string, series: string, peer: string, of: 'opsPerSecond' | 'p50', limit: number }[]}
 */
const targets = [
  ...allSeries.map(({ id, title }) => ({
    target: `${title}: ahead of gocryptfs in operations a second`,
    series: id,
    peer: 'gocryptfs',
    of: /** @type {const} */ ('opsPerSecond'),
    limit: 1,
  })),
  { target: 'getattr round trip within 1.3 times bindfs', series: 'getattr', peer: 'bindfs', of: 'p50', limit: 1.3 },
  { target: 'warm stat as bindfs (within a tenth)', series: 'stat-warm', peer: 'bindfs', of: 'p50', limit: 1.1 },
  ...['read-cold', 'read-warm'].map((id) => ({
    target: `${id === 'read-cold' ? 'first' : 'warm'} read of 1,000 files at least as fast as fuse-native`,
    series: id,
    peer: 'fuse-native',
    of: /** @type {const} */ ('opsPerSecond'),
    limit: 1,
  })),
  {
    target: 'create+write+close at least as fast as fuse-native from memory',
    series: 'create',
    peer: 'fuse-native',
    of: 'opsPerSecond',
    limit: 1,
  },
  { target: 'start-up scan under 3 times the plain folder', series: 'start', peer: 'plain', of: 'p50', limit: 3 },
  {
    target: 'start-up scan in Node.js under 3 times the plain folder',
    series: 'start-node',
    peer: 'plain',
    of: 'p50',
    limit: 3,
  },
];

/**
 * Holds what was measured against the targets.
 * @param {Table} table
 * @returns {Verdict[]}
 */
export function judge(table) {
  return targets.map(({ target, series, peer, of, limit }) => {
    const mine = table.get(series)?.get('mend')?.[of];
    const theirs = table.get(series)?.get(peer)?.[of];
    if (mine === undefined || theirs === undefined) {
      return { target, verdict: 'not measured', numbers: `${mine === undefined ? 'mend' : peer} was not measured` };
    }
    const ratio = mine / theirs;
    const reached = of === 'opsPerSecond' ? ratio >= limit : ratio <= limit;
    const bound = of === 'opsPerSecond' ? `at least ${limit}` : `at most ${limit}`;
    return {
      target,
      verdict: reached ? 'reached' : 'missed',
      numbers: `${ratio.toFixed(2)} times ${peer} in ${of === 'p50' ? 'p50' : 'operations a second'}; ${bound}`,
    };
  });
}
