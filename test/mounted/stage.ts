import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { withDeadline } from '../support/mounted.js';
import { listProcesses } from '../support/processes.js';
import { programPath } from '../support/program.js';
import { currentUser, isRoot, type RunResult, type TestUser, throwAwayUser } from '../support/users.js';
import { Agent, harnessShell, type Launcher } from './agent.js';

/** An entry of `mend memory log --json`. */
export interface Version {
  readonly file: string;
  readonly version: number;
  readonly kind: string;
  readonly session: string | null;
  readonly bytes: number;
}

/** The parts of `mend status --json` that the tests look at. */
export interface Status {
  readonly pid: number | null;
  readonly supervisor_pid: number | null;
  readonly kernel: { readonly resend: boolean };
  readonly mounts: readonly {
    readonly path: string;
    readonly files: number;
    readonly bytes: number;
  }[];
  readonly sessions: readonly string[];
}

interface MendOptions {
  /** Becomes HOME; the user's own by default. */
  readonly home?: string;
  /** Working folder; the repository by default. */
  readonly cwd?: string;
  /** More variables of the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Expected exit status, 0 by default. */
  readonly status?: number;
}

/** An ordinary user where the tests can make one. */
export const somebody = (): TestUser => (isRoot ? throwAwayUser() : currentUser());

/** A user with a repository and a store of their own. */
export class Stage {
  readonly user: TestUser;
  readonly repository: string;
  readonly store: string;
  readonly #agents: Agent[] = [];

  private constructor(user: TestUser, store: string) {
    this.user = user;
    this.repository = join(user.home, 'repository');
    this.store = join(user.home, store);
  }

  /** @param store the store's folder within the home; mend makes it */
  static async open(user: TestUser, store = 'store'): Promise<Stage> {
    const stage = new Stage(user, store);
    await stage.sh('git init -q "$1"', stage.repository);
    return stage;
  }

  /** Runs mend and checks how it ended. */
  async mend(args: readonly string[], options: MendOptions = {}): Promise<RunResult> {
    const env = { ...options.env, HOME: options.home ?? this.user.home, MEND_STORE_DIR: this.store };
    const cwd = options.cwd ?? this.repository;
    const result = await this.user.run([process.execPath, programPath(), ...args], { cwd, env });
    expect(result.code, `mend ${args.join(' ')}: ${result.stderr}`).toBe(options.status ?? 0);
    return result;
  }

  async json<T>(args: readonly string[], options: MendOptions = {}): Promise<T> {
    return JSON.parse((await this.mend([...args, '--json'], options)).stdout) as T;
  }

  /** Mounts the repository's memory, and gives back the folder. */
  async mount(options: MendOptions = {}): Promise<string> {
    await this.mend(['mount'], options);
    return this.folder(options);
  }

  /** The memory folder of the repository in a home. */
  folder({ home = this.user.home }: MendOptions = {}): string {
    const slug = realpathSync(this.repository).replace(/[^A-Za-z0-9]/g, '-');
    return join(home, '.claude', 'projects', slug, 'memory');
  }

  status(): Promise<Status> {
    return this.json<Status>(['status']);
  }

  /** The versions of a file, or of all, newest first. */
  async log(file?: string): Promise<Version[]> {
    // Asked for one file, mend fails where there is no version of it.
    const all = await this.json<Version[]>(['memory', 'log']);
    return file === undefined ? all : all.filter((one) => one.file === file).sort((a, b) => b.version - a.version);
  }

  /** The kinds of a file's versions, newest first. */
  async kinds(file: string): Promise<string[]> {
    return (await this.log(file)).map((version) => version.kind);
  }

  /** A version of a file, or its head, as `mend memory show` prints it. */
  async show(file: string, version?: number): Promise<string> {
    const args = version === undefined ? [] : ['--version', String(version)];
    return (await this.mend(['memory', 'show', file, ...args])).stdout;
  }

  /** The contents of a file's versions of one kind, newest first. */
  async contents(file: string, kind: string): Promise<string[]> {
    const found: string[] = [];
    for (const version of await this.log(file)) {
      if (version.kind === kind) found.push(await this.show(file, version.version));
    }
    return found;
  }

  /** Runs a shell script as the user, its arguments as `$1` and on, and gives back its standard output. */
  async sh(script: string, ...args: string[]): Promise<string> {
    const result = await this.user.run(['sh', '-euc', script, 'sh', ...args], { cwd: this.user.home });
    expect(result, `${script}: ${result.stderr}`).toMatchObject({ code: 0, signal: null });
    return result.stdout;
  }

  async agent(session: 'own' | 'inherited' = 'own'): Promise<Agent> {
    const agent = await Agent.start(this.user, session);
    this.#agents.push(agent);
    return agent;
  }

  /** An agent that `mend run` starts in the repository, with options of that. */
  async runAgent(...options: string[]): Promise<Agent> {
    const agent = await Agent.start(this.user, this.launcher(...options));
    this.#agents.push(agent);
    return agent;
  }

  /** `mend run claude`, where that is a shell. */
  launcher(...options: string[]): Launcher {
    const PATH = `${dirname(harnessShell())}:${process.env['PATH']}`;
    return {
      command: [process.execPath, programPath(), 'run', ...options, 'claude'],
      cwd: this.repository,
      env: { MEND_STORE_DIR: this.store, PATH },
    };
  }

  /** Ends the daemon in order by a signal to the process that serves, or kills all of it; waits until it is gone. */
  async endDaemon(signal: NodeJS.Signals): Promise<void> {
    const { pid, supervisor_pid: supervisor } = await this.status();
    if (pid === null || supervisor === null) throw new Error('no daemon runs');
    if (signal === 'SIGKILL') await killDaemon({ pid, supervisor });
    else {
      process.kill(pid, signal);
      await Promise.all([gone(pid), gone(supervisor)]);
    }
  }

  /** Ends everything that runs, takes mounts off, and removes the user. */
  async close(): Promise<void> {
    await this.user.remove();
    // Their output ends with them.
    await Promise.all(this.#agents.map((agent) => agent.exit()));
  }
}

/** Kills a daemon at once: who would start it again, then who serves. */
export async function killDaemon({ pid, supervisor }: { pid: number; supervisor: number }): Promise<void> {
  for (const victim of [supervisor, pid]) process.kill(victim, 'SIGKILL');
  await Promise.all([gone(supervisor), gone(pid)]);
}

/** Lines of the daemon's log that are shown of a test that failed. */
const TOLD = 60;

/** Prints what the daemon noted last, before its store is removed. */
function tellLog(store: string): void {
  const file = join(store, 'daemon.log');
  if (existsSync(file)) console.log(readFileSync(file, 'utf8').trimEnd().split('\n').slice(-TOLD).join('\n'));
}

/** Waits until a process is gone or only waits for its parent; 10 s at most. */
export async function gone(pid: number): Promise<void> {
  await until(() => !listProcesses().some((entry) => entry.pid === pid && !entry.zombie), `process ${pid} to end`);
}

/** Waits for something that no notice is given of; `most` milliseconds. */
export async function until(done: () => boolean | Promise<boolean>, what: string, most = 10_000): Promise<void> {
  for (const begin = Date.now(); Date.now() - begin < most; ) {
    if (await done()) return;
    await delay(20);
  }
  throw new Error(`Waited ${most} ms for ${what}`);
}

/**
 * The body of a test on a fresh stage: its mounts are aborted and the test fails after `seconds`, and nothing of it is
 * left afterwards. Give the test itself `seconds` and the time to clean up.
 */
export function staged(
  seconds: number,
  body: (stage: Stage) => Promise<void>,
  makeUser: () => TestUser = somebody,
): () => Promise<void> {
  return async () => {
    const user = makeUser();
    let stage: Stage | undefined;
    try {
      stage = await Stage.open(user);
      const opened = stage;
      await withDeadline(seconds, [user.home], () => body(opened));
    } catch (error) {
      if (stage) tellLog(stage.store);
      throw error;
    } finally {
      await (stage ?? { close: () => user.remove() }).close();
    }
  };
}
