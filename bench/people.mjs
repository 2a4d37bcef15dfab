// @ts-check
// Measures many people on one machine: the time to bring all their mounts up, and what daemons cost that nobody uses, in
// memory (proportional set size, proc_pid_smaps(5)) and processor time, beside a Node.js that does nothing.
// Makes users and removes them: run it as root, where no user is named mendp….
// Usage: npm run build && node bench/people.mjs [--people 50] [--projects 4] [--rest 120] [--idle 60]
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { median } from './lib/stats.mjs';

const { values } = parseArgs({
  options: {
    people: { type: 'string', default: '50' },
    projects: { type: 'string', default: '4' },
    rest: { type: 'string', default: '120' },
    idle: { type: 'string', default: '60' },
    dist: { type: 'string', default: join(import.meta.dirname, '../dist') },
  },
});
const count = Number(values.people);
const projects = Number(values.projects);
const rest = Number(values.rest);
const idle = Number(values.idle);
const program = join(values.dist, 'main.js');
/** Clock ticks in a second, which proc_pid_stat(5) counts in. */
const TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const MIB = 1024;

/** @typedef {{ name: string, uid: number, home: string }} Person */

/** @param {number} n @returns {Person} */
function makePerson(n) {
  const name = `mendp${n}`;
  execFileSync('useradd', ['--create-home', '--shell', '/bin/sh', name]);
  const uid = Number(execFileSync('id', ['-u', name], { encoding: 'utf8' }));
  return { name, uid, home: execFileSync('sh', ['-c', `echo ~${name}`], { encoding: 'utf8' }).trim() };
}

/**
 * @param {Person} person @param {string} folder @param {readonly string[]} command
 * @returns {Promise<void>}
 */
function run(person, folder, command) {
  const as = ['--reuid', person.name, '--regid', person.name, '--init-groups', '--reset-env', ...command];
  const child = spawn('setpriv', as, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`${command.join(' ')}: ${said}`))));
  });
}

/** @param {Person} person */
async function bringUp(person) {
  for (let n = 0; n < projects; n++) {
    const folder = join(person.home, `project-${n}`);
    await run(person, folder, [process.execPath, program, 'mount']);
  }
}

/** Processes of each user, by uid. @returns {Map<number, number[]>} */
function processes() {
  /** @type {Map<number, number[]>} */
  const found = new Map();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const uid = Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${entry}/status`, 'latin1'))?.[1]);
      found.set(uid, [...(found.get(uid) ?? []), Number(entry)]);
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

/** @param {number} pid @returns {number} KiB */
const proportional = (pid) =>
  Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1]);

/** @param {number} pid @returns {number} clock ticks */
function ticks(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** @param {readonly Person[]} people @param {(pid: number) => number} of @returns {number[]} sums, by person */
function each(people, of) {
  const all = processes();
  return people.map(({ uid }) => (all.get(uid) ?? []).reduce((sum, pid) => sum + of(pid), 0));
}

if (process.getuid?.() !== 0) throw new Error('run it as root: it makes users');
/** @type {Person[]} */
const people = [];
const bare = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 2 ** 31 - 1)'], { stdio: 'ignore' });
try {
  for (let n = 0; n < count; n++) {
    const person = makePerson(n);
    people.push(person);
    for (let p = 0; p < projects; p++) {
      mkdirSync(join(person.home, `project-${p}`));
      execFileSync('chown', [person.name, join(person.home, `project-${p}`)]);
      await run(person, join(person.home, `project-${p}`), ['git', 'init', '-q']);
    }
  }
  console.log(`Linux ${os.release()}, ${os.cpus().length} processors, Node.js ${process.versions.node}`);
  const begun = performance.now();
  const waiting = [...people];
  await Promise.all(
    os.cpus().map(async () => {
      for (let person = waiting.shift(); person; person = waiting.shift()) await bringUp(person);
    }),
  );
  const seconds = (performance.now() - begun) / 1000;
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  const ours = lines.filter((line) => people.some(({ home }) => line.split(' ')[4]?.startsWith(`${home}/`)));
  const mounts = ours.filter((line) => line.includes(' - fuse.mend ')).length;
  console.log(`${mounts} mounts of ${count} people up in ${seconds.toFixed(1)} s, one command for each`);
  for (const [at, wait] of /** @type {const} */ ([
    ['at once', 0],
    [`after ${rest} s in which nobody called`, rest],
  ])) {
    await delay(wait * 1000);
    const memory = each(people, proportional).map((kib) => kib / MIB);
    const alone = proportional(/** @type {number} */ (bare.pid)) / MIB;
    const sum = memory.reduce((a, b) => a + b);
    console.log(
      `memory ${at}: ${median(memory).toFixed(1)} MiB a person (median; most ${Math.max(...memory).toFixed(1)}), ` +
        `${(sum / 1024).toFixed(1)} GiB in all; ${(median(memory) / alone).toFixed(1)} times a bare Node.js (${alone.toFixed(1)} MiB)`,
    );
  }
  const before = each(people, ticks);
  await delay(idle * 1000);
  const spent = each(people, ticks).map((now, n) => (now - (before[n] ?? 0)) / TICKS);
  const all = spent.reduce((a, b) => a + b);
  console.log(
    `processor time of all ${count} in ${idle} s: ${all.toFixed(2)} s, ${((all / idle / count) * 100).toFixed(3)} % of one processor a person`,
  );
} finally {
  bare.kill();
  for (const person of people) {
    await run(person, person.home, [process.execPath, program, 'unmount', '--all']).catch((error) =>
      console.error(error),
    );
    for (const pid of processes().get(person.uid) ?? []) process.kill(pid, 'SIGKILL');
    execFileSync('userdel', [person.name]);
    rmSync(person.home, { recursive: true, force: true });
  }
}
