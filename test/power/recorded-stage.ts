import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { harnessShell, shared } from '../mounted/agent.js';
import { gone, Stage, until } from '../mounted/stage.js';
import { programPath } from '../support/program.js';
import type { RunResult, TestUser } from '../support/users.js';
import type { Mark } from './marks.js';
import { RecordReader, recording } from './record.js';

type Put = Readonly<Record<string, string | null>>;
/** A mark without who makes it. */
type Said = { step: number; put: Put } | { done: number } | { synced: number } | { purged: string };

/** A stage whose daemon, commands and workers are recorded. */
export class RecordedStage {
  readonly stage: Stage;
  readonly record: string;
  /** Folders below which everything is recorded: that of the store, that of the marks, and that of the plain memory. */
  readonly roots: readonly [store: string, marks: string, plain: string];
  readonly fails: string;
  readonly #marks: string;
  readonly #log: LogWatch;
  #steps = 0;

  private constructor(stage: Stage) {
    const at = (name: string): string => join(stage.user.home, name);
    this.stage = stage;
    this.record = at('record');
    this.#log = new LogWatch(this.record);
    this.fails = at('fails');
    this.roots = [at('data'), at('marks'), stage.folder()];
    this.#marks = at('marks/marks');
  }

  static async open(user: TestUser): Promise<RecordedStage> {
    const recorded = new RecordedStage(await Stage.open(user, 'data/mend/store'));
    await recorded.stage.sh('mkdir -p "$@"; cd; : >record; : >marks/marks', ...recorded.roots);
    return recorded;
  }

  get marks(): string {
    return this.#marks;
  }

  /** Variables for whatever does not go through the mount, which must not look at the plain folder meanwhile. */
  get #env(): Record<string, string> {
    return recording({ record: this.record, roots: this.roots.slice(0, 2), fails: this.fails });
  }

  /** Mounts; the daemon that this starts is recorded, with the plain folder. */
  async mount(): Promise<string> {
    const env = recording({ record: this.record, roots: this.roots, fails: this.fails });
    return this.stage.mount({ env });
  }

  /** Has a file in the plain folder, all of it on the disk; only while nothing is mounted there. */
  async writePlain(name: string, text: string): Promise<void> {
    const script = 'cd "$1"; printf "%s" "$3" >.new; sync .new; mv -f .new "$2"; sync .';
    const env = recording({ record: this.record, roots: [this.roots[2]] });
    const { user } = this.stage;
    const result = await user.run(['sh', '-euc', script, 'sh', this.roots[2], name, text], { env });
    expect(result).toMatchObject({ code: 0, stderr: '' });
  }

  async mend(...args: string[]): Promise<RunResult> {
    return this.stage.mend(args, { env: this.#env });
  }

  /** The same, whatever comes of it. */
  async tried(...args: string[]): Promise<RunResult> {
    const env = { ...this.#env, MEND_STORE_DIR: this.stage.store };
    const command = [process.execPath, programPath(), ...args] as const;
    return this.stage.user.run(command, { cwd: this.stage.repository, env });
  }

  say(said: Said): Promise<void> {
    return this.mark({ by: 'person', ...said });
  }

  async mark(mark: Mark): Promise<void> {
    const script = 'printf "%s\\n" "$1" >>"$2"';
    const command = ['sh', '-euc', script, 'sh', JSON.stringify(mark), this.#marks] as const;
    const result = await this.stage.user.run(command, { env: this.#env });
    expect(result).toMatchObject({ code: 0, stderr: '' });
  }

  /** Does something that leaves files with the given texts, without any sync. */
  async step(texts: Readonly<Record<string, string | null>>, work: () => Promise<unknown>): Promise<void> {
    const put = Object.entries(texts).map(([file, text]) => [
      file,
      text === null ? null : createHash('sha256').update(text).digest('hex'),
    ]);
    await this.say({ step: ++this.#steps, put: Object.fromEntries(put) as Put });
    await work();
    await this.say({ done: this.#steps });
  }

  /** Waits until somebody has synced the log without being asked, and says that all steps up to now are on the disk. */
  async logFlushed(): Promise<void> {
    const { written } = this.#log.look();
    await until(() => this.#log.look().synced >= written, 'the log to be flushed', 20_000);
    await this.say({ synced: this.#steps });
  }

  /** Runs work.mjs to its end, in a session of its own. */
  async work(role: string, name: string, turns: number): Promise<void> {
    const program = shared('work.mjs', join(import.meta.dirname, 'work.mjs'));
    const args = [role, name, this.stage.folder(), this.#marks, String(turns)];
    const env = recording({ record: this.record, roots: [this.roots[1]] });
    const command = [harnessShell(), '-c', '"$@"; exit $?', 'sh', process.execPath, program, ...args] as const;
    const result = await this.stage.user.run(command, { cwd: '/', env, timeout: 120 });
    expect(result, `${role} ${name}`).toMatchObject({ code: 0, stdout: 'done\n', stderr: '' });
  }

  /** Waits until the record has grown by so many entries, or nothing more is to come. */
  async pause(entries: number, isOver: () => boolean): Promise<void> {
    const begin = this.#log.look().entries;
    await until(() => isOver() || this.#log.look().entries - begin >= entries, 'more to be recorded', 60_000);
  }

  /** Kills the process that serves, between two entries of the record. */
  async killServer(): Promise<void> {
    const { supervisor_pid: supervisor, pid } = await this.stage.status();
    if (supervisor === null || pid === null) throw new Error('no daemon runs');
    this.kill(pid);
    await until(() => childrenOf(supervisor)[0] !== undefined && !childrenOf(supervisor).includes(pid), 'a new server');
  }

  /** Kills a process while it is not between a call and its entry. */
  kill(pid: number): void {
    const script = 'kill -KILL "$1"; while grep -qs "^State:[[:space:]]*[^ZX]" "/proc/$1/status"; do sleep 0.01; done';
    execFileSync('flock', [this.record, 'timeout', '20', 'sh', '-c', script, 'sh', String(pid)]);
  }

  /** Takes everything off and waits until nothing runs any more. */
  async rest(): Promise<void> {
    const { pid, supervisor_pid: supervisor } = await this.stage.status();
    await this.mend('unmount', '--all');
    for (const process of [pid, supervisor]) if (process !== null) await gone(process);
  }
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number);
}

/** Follows what is written to the store's log, and what of it is synced. */
class LogWatch {
  readonly #reader: RecordReader;
  #entries = 0;
  #written = 0;
  #synced = 0;
  readonly #syncs = new Map<string, number>();

  constructor(record: string) {
    this.#reader = new RecordReader(record);
  }

  /** How many entries there are, up to which the log was written, and up to which what was written is synced. */
  look(): { readonly entries: number; readonly written: number; readonly synced: number } {
    for (const { op, path, pid, offset } of this.#reader.read()) {
      this.#entries++;
      if (!path.endsWith('/store.db-wal')) continue;
      const key = `${pid} ${offset}`;
      if (op === 'write') this.#written = this.#entries;
      else if (op === 'sync begins') this.#syncs.set(key, this.#entries);
      else if (op === 'sync ends') this.#synced = Math.max(this.#synced, this.#syncs.get(key) ?? 0);
    }
    return { entries: this.#entries, written: this.#written, synced: this.#synced };
  }
}
