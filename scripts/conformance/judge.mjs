// @ts-check
import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {object} Excluded
 * @property {Record<string, string>} reasons the rule behind each reason, by its short name
 * @property {Record<string, Record<string, string>>} tests file → reason → numbers of tests, such as `3,5-9`
 *
 * @typedef {object} Verdict how one place did, in numbers of tests
 * @property {number} count
 * @property {number} passed
 * @property {number} failedOnPlain failed, and so on the plain folder: this user may not do it anywhere
 * @property {Record<string, number>} excluded failed by a rule of the mount's, by reason
 * @property {string[]} unexplained
 * @property {number} listedAndPassed passed, though it is among the excluded ones
 */

/** @returns {Excluded} */
export function readExcluded() {
  return JSON.parse(readFileSync(path.join(import.meta.dirname, 'excluded.json'), 'utf8'));
}

/**
 * Numbers such as `3,5-9`, one by one.
 * @param {string} ranges
 * @returns {number[]}
 */
export function numbersIn(ranges) {
  return ranges.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/**
 * Judges the results of one place against those of a plain folder.
 * @param {Map<string, import('./run-test.mjs').Result>} results by file
 * @param {Map<string, import('./run-test.mjs').Result>} plain
 * @param {Excluded | null} excluded null for a place that follows no rules of ours
 * @returns {Verdict}
 */
export function judge(results, plain, excluded) {
  /** @type {Verdict} */
  const verdict = { count: 0, passed: 0, failedOnPlain: 0, excluded: {}, unexplained: [], listedAndPassed: 0 };
  for (const [test, { count, failed }] of results) {
    /** @type {Map<number, string>} */
    const reasons = new Map();
    for (const [reason, ranges] of Object.entries(excluded?.tests[test] ?? {}))
      for (const number of numbersIn(ranges)) reasons.set(number, reason);
    verdict.count += count;
    for (let number = 1; number <= count; number++) {
      const text = failed.get(number);
      const reason = reasons.get(number);
      if (text === undefined) {
        verdict.passed++;
        if (reason !== undefined) verdict.listedAndPassed++;
      } else if (plain.get(test)?.failed.has(number)) verdict.failedOnPlain++;
      else if (reason !== undefined) verdict.excluded[reason] = (verdict.excluded[reason] ?? 0) + 1;
      else verdict.unexplained.push(`${test} ${number}: ${text}`);
    }
  }
  return verdict;
}
