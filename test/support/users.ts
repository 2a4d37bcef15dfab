import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inject } from 'vitest';
import { freeMounts } from './mount-table.mjs';
import { listProcesses, type ProcessEntry } from './processes.js';

/** How a command ended. */
export interface RunResult {
  /** Exit status, null after a signal. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface UserSpawnOptions {
  /** Working folder; the home by default. */
  cwd?: string;
  /** Variables besides PATH, HOME, USER, LOGNAME, SHELL and LANG. */
  env?: Record<string, string>;
  stdio?: SpawnOptions['stdio'];
}

export interface UserRunOptions extends UserSpawnOptions {
  input?: string | Buffer;
  /** Seconds after which the command is killed; 60 by default. */
  timeout?: number;
}

/** A Linux user that tests run programs as, with a home of its own. */
export interface TestUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  /** Starts a program as this user. */
  spawn(command: readonly [string, ...string[]], options?: UserSpawnOptions): ChildProcess;
  /** Runs a program as this user to its end. */
  run(command: readonly [string, ...string[]], options?: UserRunOptions): Promise<RunResult>;
  /** Ends what the user still runs, takes its mounts off and removes the home (and the user, when it was made here). */
  remove(): Promise<void>;
}

/** Whether the tests run as root, which alone can make users. */
export const isRoot = process.getuid?.() === 0;

interface Identity {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

function makeUser(
  who: Identity,
  prefix: string[],
  owns: (entry: ProcessEntry) => boolean,
  forget: () => void,
): TestUser {
  const start = (command: readonly [string, ...string[]], options: UserSpawnOptions = {}): ChildProcess => {
    const base = { HOME: who.home, USER: who.name, LOGNAME: who.name, SHELL: '/bin/sh', LANG: 'C.UTF-8' };
    const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...base, ...options.env };
    const [program = '', ...args] = [...prefix, ...command];
    return spawn(program, args, { cwd: options.cwd ?? who.home, env, stdio: options.stdio ?? 'pipe' });
  };
  return {
    ...who,
    spawn: start,
    run: (command, options = {}) => collect(start(command, options), command[0], options),
    async remove() {
      await endProcesses(owns);
      const stuck = freeMounts(who.home);
      await endProcesses(owns);
      if (stuck.length > 0) throw new Error(`Mounts of ${who.name} cannot be taken off: ${stuck.join(', ')}`);
      forget();
      rmSync(who.home, { recursive: true, force: true });
    },
  };
}

function collect(child: ChildProcess, name: string, options: UserRunOptions): Promise<RunResult> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
  // A program that ends without reading its input is not an error of the test.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(options.input ?? '');
  const seconds = options.timeout ?? 60;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const what = child.exitCode === null ? 'did not end' : 'ended, but something it started kept its output open';
      child.kill('SIGKILL');
      child.stdout?.destroy();
      child.stderr?.destroy();
      reject(new Error(`${name} ${what} for ${seconds} s`));
    }, seconds * 1000);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      const [stdout, stderr] = [out, err].map((chunks) => Buffer.concat(chunks).toString('utf8'));
      resolve({ code, signal, stdout: stdout ?? '', stderr: stderr ?? '' });
    });
  });
}

/** Kills the processes that `owns` names, by id, until none is left; fails when one survives 10 s. */
async function endProcesses(owns: (entry: ProcessEntry) => boolean): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const left = listProcesses().filter((entry) => entry.pid !== process.pid && !entry.zombie && owns(entry));
    if (left.length === 0) return;
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself since the list was read.
      }
    }
    await delay(50);
  }
  throw new Error('A process of a test user cannot be ended.');
}

/** Makes a Linux user with a home under the folder of the test run. Only root can; see `isRoot`. */
export function throwAwayUser(): TestUser {
  if (!isRoot) throw new Error('Only root can make users; use currentUser() instead.');
  const name = `mendt${randomBytes(4).toString('hex')}`;
  const homes = join(inject('runFolder'), 'homes');
  mkdirSync(homes, { recursive: true, mode: 0o755 });
  const home = join(homes, name);
  execFileSync('useradd', ['--create-home', '--home-dir', home, '--user-group', '--shell', '/bin/sh', name]);
  chmodSync(home, 0o700);
  const id = (flag: string): number => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  const who = { name, uid: id('-u'), gid: id('-g'), home };
  const prefix = ['setpriv', `--reuid=${who.uid}`, `--regid=${who.gid}`, '--init-groups', '--'];
  return makeUser(
    who,
    prefix,
    (entry) => entry.uid === who.uid,
    () => execFileSync('userdel', [name]),
  );
}

/** The user that runs the tests, with a home under the folder of the test run instead of the real one. */
export function currentUser(): TestUser {
  const { username: name, uid, gid } = userInfo();
  const home = mkdtempSync(join(inject('runFolder'), 'home-'));
  return makeUser(
    { name, uid, gid, home },
    [],
    (entry) => entry.uid === uid && entry.environment().includes(`HOME=${home}`),
    () => undefined,
  );
}
