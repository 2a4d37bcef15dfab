/**
 * Measures mend beside its peers: one workload, every subject in one run, interleaved.
 * Exit status: 0 done, 1 failed, 2 wrong usage, 3 done without a subject that is absent here.
 */
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './lib/exec.mjs';
import { describeMachine } from './lib/machine.mjs';
import { measure } from './lib/measure.mjs';
import { BenchError, readOptions, UsageError } from './lib/options.mjs';
import { readProfiles } from './lib/profile-report.mjs';
import { makeReport } from './lib/report.mjs';
import { scales } from './lib/rows.mjs';
import { bindfs } from './subjects/bindfs.mjs';
import { fuseNative } from './subjects/fuse-native.mjs';
import { gocryptfs } from './subjects/gocryptfs.mjs';
import { mend, requireBuild } from './subjects/mend.mjs';
import { plain } from './subjects/plain.mjs';
import { Absent, findProgram, makeFolder } from './subjects/subject.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
/** @type {Record<string, (context: import('./subjects/subject.mjs').Context) => Promise<Subject>>} */
const makers = { plain, bindfs, gocryptfs, 'fuse-native': fuseNative, mend };

/** @typedef {import('./subjects/subject.mjs').Subject} Subject */

/** @param {string} line */
function say(line) {
  process.stderr.write(`bench: ${line}\n`);
}

/** @param {string | null} name @returns {Promise<import('./lib/exec.mjs').Person | null>} */
async function findPerson(name) {
  if (name === null) return null;
  if (process.getuid?.() !== 0) throw new BenchError('--user needs root; leave it out to measure as yourself.');
  const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
  return { uid: Number(uid), gid: Number(gid) };
}

/** @param {import('./lib/exec.mjs').Person | null} as */
async function requireFuse(as) {
  if (!existsSync('/dev/fuse')) throw new BenchError('There is no /dev/fuse; load the kernel module "fuse" first.');
  if (findProgram('fusermount3') === null) {
    throw new BenchError('fusermount3 is not installed; install it with: apt-get install fuse3');
  }
  try {
    await run('sh', ['-c', 'test -r /dev/fuse -a -w /dev/fuse'], { as });
  } catch {
    throw new BenchError('/dev/fuse is closed to this user; as root, open it with: chmod 0666 /dev/fuse');
  }
}

/** @param {string} folder @returns {Promise<string>} path of the compiled client */
async function compileClient(folder) {
  const compiler = ['cc', 'gcc', 'clang'].map(findProgram).find((file) => file !== null);
  if (!compiler)
    throw new BenchError('There is no C compiler for the client; install one with: apt-get install gcc libc6-dev');
  const client = path.join(folder, 'client');
  await run(compiler, ['-O2', '-Wall', '-Wextra', '-Werror', '-o', client, path.join(here, 'client.c')]);
  return client;
}

/**
 * @param {string[]} names
 * @param {import('./subjects/subject.mjs').Context} context
 */
async function makeSubjects(names, context) {
  /** @type {Subject[]} */
  const subjects = [];
  /** @type {[string, string][]} */
  const versions = [];
  for (const name of names) {
    say(`preparing ${name}`);
    try {
      const subject = await makers[name]?.(context);
      if (subject === undefined) continue;
      subjects.push(subject);
      versions.push([name, subject.version]);
    } catch (error) {
      if (!(error instanceof Absent)) throw error;
      say(`${name} is left out: ${error.message}`);
      versions.push([name, `absent: ${error.message}`]);
    }
  }
  return { subjects, versions };
}

/**
 * @param {string | null} folder
 * @param {import('./lib/exec.mjs').Person | null} as
 * @returns {string | null} its canonical path, made for whoever serves
 */
function profileFolder(folder, as) {
  if (folder === null) return null;
  mkdirSync(folder, { recursive: true });
  if (as) chownSync(folder, as.uid, as.gid);
  return realpathSync(folder);
}

/** @param {string} folder @returns {string} the functions in which the busiest thread of mend spent most time */
function describeProfile(folder) {
  const profile = readProfiles(folder, path.join(here, '..', '/'));
  if (profile === null) return `\nNo CPU profile was written to ${folder}.\n`;
  const lines = profile.lines.slice(0, 25).map(([name, share]) => `${(share * 100).toFixed(1).padStart(5)} %  ${name}`);
  const busy = Math.round(profile.busyMs).toLocaleString('en');
  return `\n## Profile\n\nSelf time in the busiest thread of mend (${busy} ms of JavaScript and native calls):\n\n${lines.join('\n')}\n`;
}

/** @param {Subject[]} subjects @param {string} work */
async function tidyUp(subjects, work) {
  /** @type {unknown[]} */
  const problems = [];
  for (const subject of subjects) await subject.stop().catch((error) => problems.push(error));
  // Only when every mount is off: a removal must never walk into a mount.
  if (problems.length === 0) rmSync(work, { recursive: true, force: true });
  else say(`left behind for a look: ${work}`);
  if (problems.length > 0) throw problems[0];
}

async function main() {
  const options = readOptions(process.argv.slice(2), path.join(here, 'results.md'));
  if (options.subjects.includes('mend')) requireBuild();
  const as = await findPerson(options.user);
  if (options.subjects.some((name) => name !== 'plain')) await requireFuse(as);
  const stop = new AbortController();
  const cancel = (/** @type {string} */ why) => stop.abort(new BenchError(why));
  const timer = setTimeout(() => cancel(`The run took longer than ${options.timeoutMs / 1000} s.`), options.timeoutMs);
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(name, () => cancel(`${name}: stopped.`));

  const work = realpathSync(mkdtempSync(path.join(options.folder, 'mend-bench-')));
  const context = {
    work,
    seed: '',
    as,
    signal: stop.signal,
    profile: profileFolder(options.profile, as),
    mayInstall: process.getuid?.() === 0,
  };
  const machine = await describeMachine(work, options.user ?? (await run('id', ['-un'])).trim());
  /** @type {Subject[]} */
  let subjects = [];
  try {
    await run('chmod', ['0711', work]);
    const client = await compileClient(work);
    const scale = options.quick ? scales.quick : scales.full;
    context.seed = makeFolder(context, 'seed');
    for (const [folder, files] of /** @type {const} */ ([
      [context.seed, scale.notes],
      [makeFolder(context, 'seed', 'start'), scale.start],
    ])) {
      await run(client, ['seed', folder, '-n', `${files}`], { as });
    }
    const made = await makeSubjects(options.subjects, context);
    subjects = made.subjects;
    const { rounds, quick } = options;
    const setting = { client, rounds, scale, as, signal: stop.signal, progress: say };
    const measured = await measure(subjects, setting);
    const notesFile = path.join(here, 'notes.md');
    const notes = existsSync(notesFile) ? readFileSync(notesFile, 'utf8').trim() : null;
    const names = subjects.map(({ name }) => name);
    const report = makeReport(measured, { machine, versions: made.versions, subjects: names, rounds, quick, notes });
    process.stdout.write(report.markdown);
    if (context.profile !== null) process.stdout.write(describeProfile(context.profile));
    if (options.output !== null) writeFileSync(options.output, report.markdown);
    if (options.json !== null) {
      const table = Object.fromEntries([...report.table].map(([id, of]) => [id, Object.fromEntries(of)]));
      writeFileSync(options.json, `${JSON.stringify({ machine, versions: made.versions, table }, null, 2)}\n`);
    }
    return subjects.length < options.subjects.length ? 3 : 0;
  } finally {
    clearTimeout(timer);
    await tidyUp(subjects, work);
  }
}

main().then(
  (status) => process.exit(status),
  (error) => {
    if (!(error instanceof BenchError)) throw error;
    say(error.message);
    process.exit(error instanceof UsageError ? 2 : 1);
  },
);
