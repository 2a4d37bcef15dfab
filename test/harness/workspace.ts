import { type ChildProcess, spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { Typist } from '../cli/terminal.js';
import { leftoverMounts, withDeadline } from '../support/mounted.js';
import { programPath } from '../support/program.js';
import { currentUser, isRoot, type TestUser, throwAwayUser } from '../support/users.js';
import { type Loopback, openLoopback } from './loopback.js';
import { type Conversation, ModelStub, type Script } from './model-stub.js';
import {
  asAccount,
  environment,
  runSession,
  SESSION_TIMEOUT_MS,
  type Session,
  type SessionLauncher,
} from './session.js';

/** When a session is still not over, because its mount does not answer, the mount is taken away; in seconds. */
const DEADLINE_S = SESSION_TIMEOUT_MS / 1000 + 10;

/** An entry of `mend memory --json`. */
export interface ListedFile {
  readonly harness: string;
  readonly file: string;
}

/** An entry of `mend memory log --json`. */
export interface ListedVersion {
  readonly file: string;
  readonly session: string;
  readonly sha256: string;
}

/** One home folder of the user, with Claude Code's memory of the repository mounted in it. */
export interface Home {
  readonly path: string;
  /** The memory folder, as `mend status` names it. */
  readonly memory: string;
}

/** A user with a repository in two checkouts, any number of homes on one store, and a model to talk to. */
export class Workspace {
  readonly #binary: string;
  readonly #user: TestUser;
  readonly #loopback: Loopback;
  readonly #stub: ModelStub;

  private constructor(binary: string, user: TestUser, loopback: Loopback) {
    this.#binary = binary;
    this.#user = user;
    this.#loopback = loopback;
    this.#stub = new ModelStub(loopback.listener);
  }

  /** Makes the user and the network. Nothing is mounted yet. */
  static async open(binary: string): Promise<Workspace> {
    const loopback = await openLoopback();
    try {
      return new Workspace(binary, isRoot ? throwAwayUser() : currentUser(), loopback);
    } catch (error) {
      await loopback.close();
      throw error;
    }
  }

  /** Makes the repository, with one commit, and a linked worktree of it. */
  async createRepository(): Promise<void> {
    await this.shell(`
      mkdir "$REPOSITORY" && cd "$REPOSITORY" && git init -q -b main
      git -c user.name=Gardener -c user.email=gardener@example.org commit -q --allow-empty -m 'First bed'
      git worktree add -q "$WORKTREE" -b orchard`);
  }

  /** The home of the user itself. */
  get home(): string {
    return this.#user.home;
  }

  /** The blank and the dot are there to be found in the name of the memory folder. */
  get repository(): string {
    return join(this.home, 'garden planner.2');
  }

  get worktree(): string {
    return join(this.home, 'orchard');
  }

  /** Mounts the memory of the repository in a folder that is the home from then on; the folder is made when missing. */
  async mount(path: string): Promise<Home> {
    await this.shell('mkdir -p "$1"', path);
    await this.mend(path, 'mount', '--harness', 'claude');
    const status = JSON.parse(await this.mend(path, 'status', '--json')) as { mounts: { path: string }[] };
    const memory = status.mounts.find((mount) => mount.path.startsWith(`${path}/.claude/`))?.path;
    if (memory === undefined) throw new Error(`mend status names no mount in ${path}`);
    return { path, memory };
  }

  /** Runs a `mend` command in the repository and resolves to its standard output; a non-zero status throws. */
  mend(home: string, ...args: string[]): Promise<string> {
    return this.#run([process.execPath, programPath(), ...args], this.repository, home);
  }

  async listed(home: Home): Promise<ListedFile[]> {
    return JSON.parse(await this.mend(home.path, 'memory', '--json')) as ListedFile[];
  }

  async versions(home: Home, file: string): Promise<ListedVersion[]> {
    return JSON.parse(await this.mend(home.path, 'memory', 'log', file, '--json')) as ListedVersion[];
  }

  /** Runs a shell script as the user, its arguments as `$1` and on, and resolves to its standard output. */
  shell(script: string, ...args: string[]): Promise<string> {
    return this.#run(['sh', '-euc', script, 'sh', ...args], this.home, this.home);
  }

  /** Replaces a file in place, as a plain program would. */
  async put(path: string, content: string): Promise<void> {
    await this.shell('printf %s "$2" >"$1"', path, content);
  }

  read(path: string): Promise<string> {
    return this.shell('cat "$1"', path);
  }

  /** Every name in the folder and below it, hidden ones included, in no order. */
  async names(folder: string): Promise<string[]> {
    const found = await this.shell(`cd "$1" && find . -mindepth 1 -printf '%P\\n'`, folder);
    return found.split('\n').filter((name) => name !== '');
  }

  /** `mend run claude` with options of that. */
  launcher(...options: string[]): SessionLauncher {
    return {
      command: [process.execPath, programPath(), 'run', ...options, 'claude'],
      env: {
        PATH: `${dirname(this.#binary)}:${process.env['PATH']}`,
        MEND_STORE_DIR: join(this.home, 'store'),
      },
    };
  }

  /** A shell on a terminal, in the repository, from which the program reaches the stub. */
  terminal(home: Home, env: Readonly<Record<string, string>>): Typist {
    const all = { ...environment(this.#loopback.port, home.path), ...env, TERM: 'xterm-256color' };
    const spawned = (command: readonly string[], cwd: string): ChildProcess => {
      const [program = '', ...args] = this.#loopback.enter(asAccount(this.#user, command));
      return spawn(program, args, { cwd, env: all });
    };
    const user = { spawn: (command: readonly string[]) => spawned(command, this.repository) };
    return new Typist({ user, repository: this.repository }, 'exec bash --norc --noprofile -i');
  }

  /** Prepares a conversation that a prompt with its token begins. */
  converse(script: Script): Conversation {
    return this.#stub.converse(script);
  }

  /** Runs one session of Claude Code in a folder (by default the repository). */
  session(home: Home, script: Script, folder = this.repository, launcher?: SessionLauncher): Promise<Session> {
    const setting = { binary: this.#binary, loopback: this.#loopback, stub: this.#stub, account: this.#user };
    const place = { home: home.path, folder, ...(launcher ? { launcher } : {}) };
    return withDeadline(DEADLINE_S, [home.memory], () => runSession(setting, place, script));
  }

  /** Unmounts, and removes everything that was made. A mount that is left is taken off, and is an error. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    await this.mend(this.home, 'unmount', '--all').catch((error) => failures.push(error));
    for (const path of leftoverMounts(this.home)) failures.push(new Error(`${path} was still mounted at the end`));
    await this.#stub.close();
    await this.#loopback.close();
    await this.#user.remove();
    if (failures.length > 0) throw new AggregateError(failures, 'the workspace did not end well');
  }

  async #run(argv: readonly [string, ...string[]], folder: string, home: string): Promise<string> {
    const env = {
      HOME: home,
      MEND_STORE_DIR: join(this.home, 'store'),
      REPOSITORY: this.repository,
      WORKTREE: this.worktree,
    };
    const ended = await this.#user.run(argv, { cwd: folder, env });
    if (ended.code !== 0) throw new Error(`${argv.join(' ')} ended with ${ended.code}: ${ended.stderr}`);
    return ended.stdout;
  }
}
