import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { RunResult } from '../support/users.js';
import { type Person, until } from './person.js';

const onPty = (command: string): [string, ...string[]] => [
  'script',
  ...['--quiet', '--flush', '--return', '--command', command, '/dev/null'],
];

/** Runs a shell command of a person on a pseudo-terminal (script(1)); what it prints is all on standard output. */
export function onTerminal(person: Person, command: string, env: Record<string, string> = {}): Promise<RunResult> {
  return person.user.run(onPty(command), { cwd: person.repository, env: { TERM: 'xterm-256color', ...env } });
}

/** An interactive shell of a person on a pseudo-terminal, into which a test types. */
export class Typist {
  readonly #child: ChildProcess;
  #output = '';

  constructor(person: { readonly user: Pick<Person['user'], 'spawn'>; readonly repository: string }, command: string) {
    const env = { TERM: 'xterm-256color', LC_ALL: 'C.UTF-8' };
    this.#child = person.user.spawn(onPty(command), { cwd: person.repository, env });
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#output += String(chunk);
    });
  }

  /** Types something, and waits until something is shown; resolves to all that was shown from then on. */
  async type(keys: string, wanted: RegExp): Promise<string> {
    this.#output = '';
    this.#child.stdin?.write(keys);
    await this.shown(wanted);
    return this.#output;
  }

  async shown(wanted: RegExp): Promise<void> {
    await until(() => {
      if (this.#child.exitCode !== null) throw new Error(`The shell ended: ${this.#output}`);
      return wanted.test(this.#output);
    }).catch((error: unknown) => {
      throw new Error(`${String(error)} Shown was: ${this.#output}`);
    });
  }

  /** Ends the shell. */
  async end(): Promise<void> {
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** Whether a program is installed. */
export function isInstalled(name: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
}
