import os from 'node:os';
import { parseArgs } from 'node:util';

/** Everything that can be measured, in the order of the tables. */
export const subjectNames = ['plain', 'bindfs', 'gocryptfs', 'fuse-native', 'mend'];

/**
 * @typedef {object} Options
 * @property {string[]} subjects
 * @property {number} rounds
 * @property {boolean} quick fewer operations and rounds, for development
 * @property {string | null} user Linux user that serves and works, or null for the caller
 * @property {string} folder where the working folder is made; its disk is the one measured
 * @property {string | null} output Markdown file of the results, or null to write none
 * @property {string | null} json file for all the numbers, or null to write none
 * @property {string | null} profile folder for CPU profiles of mend, or null to take none
 * @property {number} timeoutMs limit of the whole run
 */

/** A problem that the person who runs the benchmark can settle; `message` is one sentence. */
export class BenchError extends Error {}

/** A command line that cannot be read. */
export class UsageError extends BenchError {}

const usage = `usage: node bench/run.mjs [options]
  --subjects a,b   what to measure (${subjectNames.join(',')})
  --rounds n       rounds over all rows (5; 2 with --quick)
  --quick          fewer operations, for development; writes no results file unless told by --output
  --user name      serve and work as this user (only as root)
  --folder path    disk to measure on (${os.tmpdir()})
  --output file    results in Markdown (bench/results.md)
  --json file      all numbers as JSON (none)
  --profile folder take CPU profiles of mend as well (slows it down: not for results)
  --timeout s      limit of the whole run in seconds (1200)`;

/**
 * Reads the command line.
 * @param {string[]} args
 * @param {string} defaultOutput
 * @returns {Options}
 */
export function readOptions(args, defaultOutput) {
  const { values } = parseOrExplain(args);
  if (values.help) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  const quick = values.quick === true;
  const subjects = values.subjects === undefined ? subjectNames : values.subjects.split(',');
  for (const name of subjects) {
    if (!subjectNames.includes(name)) {
      throw new UsageError(`There is no subject "${name}"; choose from ${subjectNames.join(', ')}.`);
    }
  }
  return {
    subjects: subjectNames.filter((name) => subjects.includes(name)),
    rounds: positive('--rounds', values.rounds, quick ? 2 : 5),
    quick,
    user: values.user ?? null,
    folder: values.folder ?? os.tmpdir(),
    output: values.output ?? (quick || values.profile !== undefined ? null : defaultOutput),
    json: values.json ?? null,
    profile: values.profile ?? null,
    timeoutMs: positive('--timeout', values.timeout, 1200) * 1000,
  };
}

/** @param {string[]} args */
function parseOrExplain(args) {
  const text = /** @type {const} */ ({ type: 'string' });
  const flag = /** @type {const} */ ({ type: 'boolean' });
  try {
    return parseArgs({
      args,
      options: {
        subjects: text,
        rounds: text,
        quick: flag,
        user: text,
        folder: text,
        output: text,
        json: text,
        profile: text,
        timeout: text,
        help: flag,
      },
    });
  } catch (error) {
    throw new UsageError(`${/** @type {Error} */ (error).message}\n${usage}`);
  }
}

/**
 * @param {string} name
 * @param {string | undefined} value
 * @param {number} otherwise
 */
function positive(name, value, otherwise) {
  if (value === undefined) return otherwise;
  if (!/^[1-9]\d*$/.test(value)) throw new UsageError(`${name} must be a whole number above zero, not "${value}".`);
  return Number(value);
}
