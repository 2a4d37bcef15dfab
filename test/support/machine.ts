import { type ChildProcess, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { openNamespace, within } from '../mounted/two-namespaces.js';
import { programPath } from './program.js';
import { currentUser, type RunResult, type TestUser, throwAwayUser } from './users.js';

/** Its own `/var/lib`, empty, and the folders of systemd, of which nothing runs. */
const PREPARE = `
  mount -t tmpfs -o mode=755 none /var/lib
  for folder in /run/systemd /etc/systemd; do
    [ ! -d "$folder" ] || mount -t tmpfs -o mode=755 none "$folder"
  done`;

/** A machine as its administrator sees it: a mount namespace whose `/var/lib` is its own, and people in it. */
export class Machine {
  readonly root: TestUser;
  readonly people: readonly TestUser[];
  readonly #keeper: ChildProcess;
  #group: string | undefined;
  #shared: string | undefined;

  private constructor(root: TestUser, people: readonly TestUser[], keeper: ChildProcess) {
    this.root = root;
    this.people = people;
    this.#keeper = keeper;
  }

  /** A process in its mount namespace. */
  get inside(): number {
    return this.#keeper.pid ?? 0;
  }

  /** @param count how many people it has */
  static async open(count: number): Promise<Machine> {
    const keeper = await openNamespace(PREPARE);
    const outside = currentUser();
    const inside = (user: TestUser): TestUser => within(user, keeper.pid ?? 0, outside);
    const people: TestUser[] = [];
    for (let i = 0; i < count; i++) people.push(inside(throwAwayUser()));
    return new Machine(inside(outside), people, keeper);
  }

  /** The words that run mend. */
  get command(): readonly [string, string] {
    return [process.execPath, programPath()];
  }

  /** The person at a place. */
  person(index: number): TestUser {
    const person = this.people[index];
    if (!person) throw new Error(`there is no person ${index}`);
    return person;
  }

  /** Runs mend as root, or as a person. */
  mend(
    args: readonly string[],
    user = this.root,
    cwd = user.home,
    env: Record<string, string> = {},
  ): Promise<RunResult> {
    return user.run([...this.command, ...args], { cwd, env });
  }

  /** Runs a shell script, with arguments, that must succeed. */
  async sh(user: TestUser, script: string, ...args: string[]): Promise<string> {
    const result = await user.run(['sh', '-euc', script, 'sh', ...args]);
    if (result.code !== 0) throw new Error(`${script}: ${result.stderr}`);
    return result.stdout;
  }

  /** A checkout that a group of all the people owns, as `git init --shared=group` makes one; the first owns the files. */
  async shareCheckout(): Promise<string> {
    const group = `mendg${randomBytes(4).toString('hex')}`;
    execFileSync('groupadd', [group]);
    this.#group = group;
    for (const { name } of this.people) execFileSync('usermod', ['--append', '--groups', group, name]);
    const folder = realpathSync(mkdtempSync(join(inject('runFolder'), 'shared-')));
    this.#shared = folder;
    const [first] = this.people;
    if (!first) throw new Error('there is nobody to share with');
    await this.sh(this.root, 'chown "$1:$2" "$3"; chmod 2775 "$3"', first.name, group, folder);
    await this.sh(first, 'umask 002; git init -q --shared=group "$1"', folder);
    for (const person of this.people) await this.sh(person, 'git config --global --add safe.directory "*"');
    return folder;
  }

  async close(): Promise<void> {
    try {
      for (const person of this.people) await person.remove();
      await this.root.remove();
      if (this.#group !== undefined) execFileSync('groupdel', [this.#group]);
      if (this.#shared !== undefined) rmSync(this.#shared, { recursive: true, force: true });
    } finally {
      this.#keeper.kill('SIGKILL');
    }
  }
}
