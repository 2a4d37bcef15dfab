import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { leftoverMounts } from '../support/mounted.js';
import { listProcesses } from '../support/processes.js';
import { programPath } from '../support/program.js';
import { currentUser, isRoot, type RunResult, type TestUser, throwAwayUser } from '../support/users.js';

export interface MendOptions {
  /** Working folder; the repository by default. */
  cwd?: string;
  env?: Record<string, string>;
  input?: string;
}

/** A user with a repository, who runs the built program. */
export class Person {
  readonly user: TestUser;
  readonly repository: string;
  /** Claude Code's memory folder of the repository. */
  readonly memory: string;
  readonly store: string;

  private constructor(user: TestUser, repository: string) {
    this.user = user;
    this.repository = repository;
    this.memory = memoryFolder(user.home, repository);
    this.store = join(user.home, '.local/share/mend', String(user.uid));
  }

  /** An ordinary user where the tests may make one, else the current one. */
  static async make(repository = 'garden'): Promise<Person> {
    const user = isRoot ? throwAwayUser() : currentUser();
    const folder = join(user.home, repository);
    const made = await user.run(['git', 'init', '--quiet', folder]);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    return new Person(user, realpathSync(folder));
  }

  mend(args: readonly string[], options: MendOptions = {}): Promise<RunResult> {
    const { cwd = this.repository, env = {}, input = '' } = options;
    return this.user.run([process.execPath, programPath(), ...args], { cwd, env, input });
  }

  /** Runs a command that must end with status 0 and say nothing on standard error; resolves to its output. */
  async done(...args: string[]): Promise<string> {
    const result = await this.mend(args);
    expect(result, `mend ${args.join(' ')}`).toMatchObject({ code: 0, stderr: '' });
    return result.stdout;
  }

  /** Runs a command with `--json`, whose output must be one document. */
  async json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.done(...args, '--json')) as T;
  }

  /** Runs a shell script with the memory folder as `$M`, which must succeed. */
  async shell(script: string): Promise<string> {
    const result = await this.user.run(['sh', '-euc', script], { env: { M: this.memory, S: this.store } });
    expect(result, script).toMatchObject({ code: 0 });
    return result.stdout;
  }

  mounts(): string[] {
    return leftoverMounts(this.user.home);
  }

  /** Supervisors of the store. */
  daemons(): number[] {
    return this.processes().filter((pid) => commandLine(pid).includes('/supervise.js'));
  }

  /** Everything that serves the store, supervisors first. */
  processes(): number[] {
    const store = `MEND_STORE_DIR=${this.store}`;
    return listProcesses()
      .filter((entry) => entry.uid === this.user.uid && !entry.zombie && entry.environment().includes(store))
      .map((entry) => entry.pid)
      .filter((pid) => /\/(supervise|serve)\.js/.test(commandLine(pid)))
      .sort(
        (a, b) => Number(commandLine(b).includes('/supervise.js')) - Number(commandLine(a).includes('/supervise.js')),
      );
  }

  /** Takes every mount off and waits for the daemon to end, after which nothing changes in the home by itself. */
  async rest(): Promise<void> {
    await this.done('unmount', '--all');
    await until(() => this.daemons().length === 0);
  }

  /** Everything in the home: names, kinds, modes, targets and contents. */
  snapshot(): string[] {
    return snapshot(this.user.home);
  }

  remove(): Promise<void> {
    return this.user.remove();
  }
}

/** What a process was started with, each word followed by NUL; empty when it is gone. */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // It ended since it was listed.
    return '';
  }
}

/** Waits until something is so. */
export async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await what()); await delay(20)) {
    if (Date.now() > end) throw new Error('It did not come true in 20 s.');
  }
}

/** Claude Code's memory folder of a repository in a home. */
export function memoryFolder(home: string, repository: string): string {
  return join(home, '.claude/projects', repository.replace(/[^A-Za-z0-9]/g, '-'), 'memory');
}

/** What lies under a folder, one line each. */
export function snapshot(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const { mode, uid } = lstatSync(path);
      const kind = mode & 0o170000;
      const text = kind === 0o120000 ? readlinkSync(path) : kind === 0o100000 ? digest(path) : '';
      return `${mode.toString(8)} ${uid} ${name} ${text}`;
    });
}

function digest(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** The one sentence with which a command fails: nothing on standard output, one line on standard error. */
export function expectRefusal(result: RunResult, code: number, sentence: RegExp): void {
  expect(result).toMatchObject({ code, stdout: '' });
  expect(result.stderr).toMatch(/^mend: [^\n]+\n$/);
  expect(result.stderr).toMatch(sentence);
}
