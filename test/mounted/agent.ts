import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type NodeFs from 'node:fs';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';
import type { TestUser } from '../support/users.js';

type Fs = typeof NodeFs;
/** What the work of one agent leaves for its later work. */
export type Own = Record<string, number>;
type Work<A extends unknown[], T> = (fs: Fs, own: Own, ...args: A) => T | Promise<T>;
type Answer = { value: unknown } | { error: { code?: string; message: string } };

/** A copy, once per run and readable by everybody, of a file that test users need. */
export function shared(name: string, source: string): string {
  const copy = join(inject('runFolder'), name);
  if (existsSync(copy)) return copy;
  const folder = mkdtempSync(join(inject('runFolder'), 'copy-'));
  chmodSync(folder, 0o755);
  copyFileSync(source, join(folder, name));
  chmodSync(join(folder, name), 0o755);
  renameSync(join(folder, name), copy);
  return copy;
}

/** A shell that mend takes for Claude Code by the name of its program: what it starts is a session of its own. */
export const harnessShell = (): string => shared('claude', '/bin/sh');

/** A command in front of the shell that starts an agent, such as `mend run`. */
export interface Launcher {
  /** Is given the arguments of that shell. */
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * A process of a test user that runs functions one at a time. By default it is the child of a program named like a
 * harness, and so a session of its own; with `session: 'inherited'` it is in that of the tests.
 */
export class Agent {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #gone: Promise<unknown>;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>, gone: Promise<unknown>, pid: number) {
    this.#child = child;
    this.#lines = lines;
    this.#gone = gone;
    this.pid = pid;
  }

  static async start(user: TestUser, session: 'own' | 'inherited' | Launcher = 'own'): Promise<Agent> {
    const program = [process.execPath, shared('agent.mjs', join(import.meta.dirname, 'agent.mjs'))] as const;
    const shell = ['-c', '"$0" "$1"; exit $?', ...program] as const;
    const { command, ...place } =
      session === 'inherited'
        ? { command: program, cwd: '/' }
        : session === 'own'
          ? { command: [harnessShell(), ...shell] as const, cwd: '/' }
          : { ...session, command: [...session.command, ...shell] as const };
    const child = user.spawn(command, { ...place, stdio: ['pipe', 'pipe', 'ignore'] });
    if (!child.stdout) throw new Error('the agent has no output');
    child.stdin?.on('error', () => undefined);
    const gone = once(child, 'close');
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const first = await lines.next();
    const { pid } = JSON.parse(first.value ?? '{}') as { pid?: number };
    if (pid === undefined) throw new Error('the agent did not start');
    return new Agent(child, lines, gone, pid);
  }

  /** The process that names the session: the shell in front of it, or itself. */
  get leader(): number {
    return this.#child.pid ?? 0;
  }

  /**
   * Runs a function there and gives back its result, which goes through JSON as its arguments do. It sees nothing but
   * `node:fs`, what earlier functions left, and its arguments. An error of a system call is rejected with its code.
   */
  async run<A extends unknown[], T>(work: Work<A, T>, ...args: A): Promise<T> {
    this.#child.stdin?.write(`${JSON.stringify({ source: work.toString(), args })}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('the agent ended while it worked');
    const answer = JSON.parse(value) as Answer;
    if ('value' in answer) return answer.value as T;
    const { code, message } = answer.error;
    throw Object.assign(new Error(message), { code });
  }

  /** The code of the error that a function fails with there; undefined when it succeeds. */
  async code<A extends unknown[]>(work: Work<A, unknown>, ...args: A): Promise<string | undefined> {
    try {
      await this.run(work, ...args);
      return undefined;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    }
  }

  /** Sends a signal to the process itself and waits until it is gone. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    process.kill(this.pid, signal);
    await this.#gone;
  }

  /** Lets it exit by itself, with what it has open still open. */
  async exit(): Promise<void> {
    this.#child.stdin?.end();
    await this.#gone;
  }
}
