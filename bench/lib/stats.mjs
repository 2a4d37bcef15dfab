/**
 * @typedef {object} Round what one call of a row printed for one subject
 * @property {number} elapsed_ns
 * @property {number} ops
 * @property {number[]} samples nanoseconds
 *
 * @typedef {object} Summary
 * @property {number} p10 nanoseconds, as all percentiles here, over the samples of all calls together
 * @property {number} p50
 * @property {number} p90
 * @property {number} p99
 * @property {number} least
 * @property {number} most
 * @property {number} opsPerSecond median of the calls
 * @property {number[]} callP50 median latency of each call, in nanoseconds
 * @property {number} samples
 */

/** @param {number[]} sorted ascending @param {number} share 0 to 1 @returns {number} */
export function percentile(sorted, share) {
  const value = sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
  if (value === undefined) throw new RangeError('no samples');
  return value;
}

/** @param {number[]} values @returns {number} */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return (percentile(sorted, 0.5) + percentile(sorted, (Math.floor(sorted.length / 2) + 1) / sorted.length)) / 2;
}

/** @param {Round[]} rounds @returns {Summary} */
export function summarise(rounds) {
  const sorted = rounds.flatMap((round) => round.samples).sort((a, b) => a - b);
  return {
    least: percentile(sorted, 0),
    p10: percentile(sorted, 0.1),
    p50: percentile(sorted, 0.5),
    p90: percentile(sorted, 0.9),
    p99: percentile(sorted, 0.99),
    most: percentile(sorted, 1),
    opsPerSecond: median(rounds.map((round) => (round.ops * 1e9) / round.elapsed_ns)),
    callP50: rounds.map((round) => median(round.samples)),
    samples: sorted.length,
  };
}
