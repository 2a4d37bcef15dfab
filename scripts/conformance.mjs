// @ts-check
/**
 * Runs pjdfstest on a mount and on a plain folder, and tells what differs and why.
 * Exit status: 0 every difference has its reason, 1 one has none, or the run failed, 2 wrong usage.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../bench/lib/exec.mjs';
import { BenchError, UsageError } from '../bench/lib/options.mjs';
import { mend } from '../bench/subjects/mend.mjs';
import { plain } from '../bench/subjects/plain.mjs';
import { makeFolder } from '../bench/subjects/subject.mjs';
import { judge, readExcluded } from './conformance/judge.mjs';
import { makeReport } from './conformance/report.mjs';
import { runTest } from './conformance/run-test.mjs';
import { copySuite, listTests } from './conformance/suite.mjs';

const usage = `usage: node scripts/conformance.mjs [options] <folder of a built pjdfstest>
  --user name          run as this user, who owns the mounts (only as root)
  --place name=folder  compare with this folder, too, such as another file system's mount (may be repeated)
  --only text          only files of tests with this in their name, such as rename/
  --output folder      keep what each file of tests printed
  --folder path        disk for the plain folder and the store (${os.tmpdir()})`;

/** Places that follow the rules of the mount: the memory itself, and the local files of spec 3.7. */
const OURS = ['memory', 'local'];

const options = /** @type {const} */ ({
  user: { type: 'string' },
  place: { type: 'string', multiple: true },
  only: { type: 'string' },
  output: { type: 'string' },
  folder: { type: 'string' },
  help: { type: 'boolean' },
});

function readOptions() {
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (values.help) {
      process.stdout.write(`${usage}\n`);
      process.exit(0);
    }
    const [build, ...more] = positionals;
    if (build === undefined || more.length > 0) throw new Error('Give one folder of a built pjdfstest.');
    const places = (values.place ?? []).map((text) => {
      const [, name, folder] = /^([^=]+)=(.+)$/.exec(text) ?? [];
      if (name === undefined || folder === undefined)
        throw new Error('--place takes a name and a folder: name=folder.');
      return { name, folder };
    });
    return { ...values, places, build };
  } catch (error) {
    throw new UsageError(`${/** @type {Error} */ (error).message}\n${usage}`);
  }
}

/** @param {string | undefined} name @returns {Promise<import('../bench/lib/exec.mjs').Person | null>} */
async function findPerson(name) {
  if (name === undefined) return null;
  if (process.getuid?.() !== 0) throw new BenchError('--user needs root; leave it out to run as yourself.');
  const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
  return { uid: Number(uid), gid: Number(gid) };
}

/** @typedef {import('./conformance/run-test.mjs').Result} Result */

/**
 * Runs all tests in one place, one file after the other.
 * @param {string} suite
 * @param {string[]} tests
 * @param {{ name: string, folder: string }} place
 * @param {{ as: import('../bench/lib/exec.mjs').Person | null, signal: AbortSignal, output: string | undefined }} options
 * @returns {Promise<Map<string, Result>>}
 */
async function runAll(suite, tests, { name, folder }, { as, signal, output }) {
  /** @type {Map<string, Result>} */
  const results = new Map();
  for (const test of tests) {
    const ran = await runTest(suite, test, folder, { as, signal });
    results.set(test, ran.result);
    if (output !== undefined) {
      const file = path.join(output, name, `${test}.txt`);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, ran.output);
    }
  }
  process.stderr.write(`conformance: ${name} is done\n`);
  return results;
}

async function main() {
  const options = readOptions();
  const as = await findPerson(options.user);
  const excluded = readExcluded();
  const stop = new AbortController();
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(name, () => stop.abort(new BenchError(`${name}: stopped.`)));
  const work = realpathSync(mkdtempSync(path.join(options.folder ?? os.tmpdir(), 'mend-conformance-')));
  const context = { work, seed: '', as, signal: stop.signal, profile: null, mayInstall: false };
  /** @type {import('../bench/subjects/subject.mjs').Subject[]} */
  const subjects = [];
  try {
    await run('chmod', ['0711', work]);
    const suite = path.join(work, 'suite');
    await copySuite(options.build, suite);
    const tests = listTests(suite).filter((test) => test.includes(options.only ?? ''));
    if (tests.length === 0) throw new BenchError(`No file of tests has "${options.only}" in its name.`);
    context.seed = makeFolder(context, 'seed');
    /** @type {{ name: string, folder: string }[]} */
    const places = [{ name: 'plain', folder: await (await plain(context)).start() }];
    // As open as a folder of the system: some tests change to another user.
    await run('chmod', ['0755', places[0]?.folder ?? '']);
    for (const name of OURS) {
      const subject = await mend({ ...context, work: makeFolder(context, name) });
      subjects.push(subject);
      const folder = await subject.start();
      if (name === 'local') await run('mkdir', [path.join(folder, 'local.tmp')], { as });
      places.push({ name, folder: name === 'local' ? path.join(folder, 'local.tmp') : folder });
    }
    places.push(...options.places);
    const setting = { as, signal: stop.signal, output: options.output };
    // At the same time: most of what the tests do is to wait for a second to go by.
    const lists = await Promise.all(places.map((place) => runAll(suite, tests, place, setting)));
    const results = new Map(places.map(({ name }, index) => [name, lists[index] ?? new Map()]));
    const onPlain = results.get('plain') ?? new Map();
    const verdicts = new Map(
      [...results].map(([name, files]) => [
        name,
        judge(files, name === 'plain' ? new Map() : onPlain, OURS.includes(name) ? excluded : null),
      ]),
    );
    process.stdout.write(`${makeReport(verdicts, results, excluded)}\n`);
    return OURS.some((name) => verdicts.get(name)?.unexplained.length !== 0) ? 1 : 0;
  } finally {
    for (const subject of subjects) await subject.stop();
    rmSync(work, { recursive: true, force: true });
  }
}

main().then(
  (status) => process.exit(status),
  (error) => {
    if (!(error instanceof BenchError)) throw error;
    process.stderr.write(`conformance: ${error.message}\n`);
    process.exit(error instanceof UsageError ? 2 : 1);
  },
);
