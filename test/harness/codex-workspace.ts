import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { leftoverMounts } from '../support/mounted.js';
import { programPath } from '../support/program.js';
import { currentUser, isRoot, type TestUser, throwAwayUser } from '../support/users.js';
import { CodexSession } from './codex-session.js';
import { type Loopback, openLoopback } from './loopback.js';
import { ResponsesStub } from './responses-stub.js';
import { asAccount } from './session.js';

const ORIGIN = 'https://forge.example/ann/garden.git';

/** What `mend env codex --json` prints. */
export interface CodexEnvironment {
  readonly memory: string;
  readonly program: string;
  readonly arguments: readonly string[];
  readonly environment: { readonly CODEX_HOME: string } & Readonly<Record<string, string>>;
}

/** A user with a repository and any number of homes on one store, as on as many machines, and a model to talk to. */
export class CodexWorkspace {
  readonly stub: ResponsesStub;
  readonly #binary: string;
  readonly #user: TestUser;
  readonly #loopback: Loopback;
  readonly #running: CodexSession[] = [];

  private constructor(binary: string, user: TestUser, loopback: Loopback) {
    this.#binary = binary;
    this.#user = user;
    this.#loopback = loopback;
    this.stub = new ResponsesStub(loopback.listener);
  }

  static async open(binary: string): Promise<CodexWorkspace> {
    const loopback = await openLoopback();
    const workspace = new CodexWorkspace(binary, isRoot ? throwAwayUser() : currentUser(), loopback);
    await workspace.shell(
      workspace.home,
      `mkdir "$1" && cd "$1" && git init -q -b main && git remote add origin "$2"
       git -c user.name=Ann -c user.email=ann@example.org commit -q --allow-empty -m 'First bed'`,
      workspace.repository,
      ORIGIN,
    );
    return workspace;
  }

  get home(): string {
    return this.#user.home;
  }

  get repository(): string {
    return join(this.home, 'garden');
  }

  get store(): string {
    return join(this.home, 'store');
  }

  /** Makes a home whose Codex asks the stub, and has a login. It trusts the repository, or would note that in the settings. */
  async makeHome(home: string, version: string): Promise<void> {
    const settings = `model = "gpt-5.4"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:${this.#loopback.port}/v1"
wire_api = "responses"
requires_openai_auth = false
[memories]
version = "${version}"
min_rollout_idle_hours = 1
max_rollouts_per_startup = 8
[projects."${this.repository}"]
trust_level = "trusted"
`;
    const login = '{"OPENAI_API_KEY":"sk-login-of-the-gardener"}';
    await this.shell(
      home,
      'mkdir -p "$1/.codex" "$1/tmp" && printf %s "$2" >"$1/.codex/config.toml" && printf %s "$3" >"$1/.codex/auth.json"',
      ...[home, settings, login],
    );
  }

  /** Puts conversations of two days ago into a Codex home. @param first number of the first one @returns their ids */
  async layConversations(home: string, codexHome: string, count: number, first = 0): Promise<string[]> {
    const began = Date.now() - 48 * 3_600_000;
    const ids: string[] = [];
    for (let i = first; i < first + count; i++) {
      const time = new Date(began + i * 600_000);
      const stamp = time.getTime().toString(16).padStart(12, '0');
      const id = `${stamp.slice(0, 8)}-${stamp.slice(8)}-7000-8000-00000000000${i}`;
      ids.push(id);
      const timestamp = time.toISOString();
      const meta = { id, session_id: id, timestamp, cwd: this.repository, originator: 'codex_cli_rs', source: 'cli' };
      const git = { commit_hash: '1'.repeat(40), branch: 'main', repository_url: ORIGIN };
      const said = `How do I water bed ${i}?`;
      const lines = [
        ['session_meta', { ...meta, cli_version: '0.171.0', thread_source: 'user', model_provider: 'stub', git }],
        ['event_msg', { type: 'user_message', message: said, images: [], local_images: [], text_elements: [] }],
        ['response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text: said }] }],
        ['response_item', { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Twice.' }] }],
        ['event_msg', { type: 'agent_message', message: 'Twice.' }],
      ].map(([type, payload]) => JSON.stringify({ timestamp, type, payload }));
      const place = `sessions/${timestamp.slice(0, 10).replaceAll('-', '/')}`;
      const name = `rollout-${timestamp.slice(0, 19).replaceAll(':', '-')}-${id}.jsonl`;
      await this.shell(
        home,
        'mkdir -p "$1" && printf "%s\\n" "$3" >"$1/$2" && touch -d "$4" "$1/$2"',
        ...[join(codexHome, place), name, lines.join('\n'), timestamp],
      );
    }
    return ids;
  }

  /** Runs `mend` in the repository and resolves to its standard output; a non-zero status throws. */
  async mend(home: string, ...args: string[]): Promise<string> {
    return this.#run([process.execPath, programPath(), ...args], home);
  }

  async env(home: string): Promise<CodexEnvironment> {
    return JSON.parse(await this.mend(home, 'env', 'codex', '--json')) as CodexEnvironment;
  }

  /**
   * Starts Codex as an editor would: under `mend run`, or by itself.
   * @param prepared what `mend env` printed for it to be started with
   */
  start(home: string, prepared?: CodexEnvironment): CodexSession {
    const start = prepared
      ? [prepared.program, ...prepared.arguments]
      : [process.execPath, programPath(), 'run', 'codex'];
    const command = this.#loopback.enter(asAccount(this.#user, [...start, 'app-server']));
    const own = { USER: this.#user.name, LANG: 'C.UTF-8', RUST_LOG: 'warn' };
    const env = { ...this.#environment(home), ...own, ...prepared?.environment };
    const session = new CodexSession(command, this.repository, env);
    this.#running.push(session);
    return session;
  }

  /** Waits until Codex has consolidated the summaries in a home, by its own database. */
  async consolidated(home: string, codexHome: string, database: string): Promise<void> {
    const query = "SELECT status, last_error FROM jobs WHERE kind = 'memory_consolidate_global'";
    for (;;) {
      const [job] = await this.#ask<{ status: string; last_error: string | null }>(
        home,
        join(codexHome, database),
        query,
      );
      if (job?.status === 'done') return;
      if (job?.last_error) throw new Error(`the consolidation failed: ${job.last_error}`);
      await delay(500);
    }
  }

  /** Waits until Codex has a summary of each of some conversations in a home, by its own database. */
  async summedUp(home: string, codexHome: string, database: string, threads: readonly string[]): Promise<void> {
    for (;;) {
      const query = 'SELECT thread_id FROM stage1_outputs';
      const rows = await this.#ask<{ thread_id: string }>(home, join(codexHome, database), query);
      if (threads.every((thread) => rows.some(({ thread_id }) => thread_id === thread))) return;
      await delay(500);
    }
  }

  /** The rows of a query; none while the database is not there yet, or busy. */
  async #ask<T>(home: string, file: string, query: string): Promise<T[]> {
    const script = `
      import Database from '${new URL('../../node_modules/better-sqlite3/lib/index.js', import.meta.url).pathname}';
      const db = new Database(process.argv[1], { readonly: true });
      process.stdout.write(JSON.stringify(db.prepare(process.argv[2]).all()));`;
    const command = [process.execPath, '--input-type=module', '-e', script, file, query] as const;
    return JSON.parse(await this.#run(command, home).catch(() => '[]')) as T[];
  }

  /** Runs a shell script as the user, its arguments as `$1` and on, and resolves to its standard output. */
  shell(home: string, script: string, ...args: string[]): Promise<string> {
    return this.#run(['sh', '-euc', script, 'sh', ...args], home, this.home);
  }

  /** Names in a folder, hidden ones included. */
  async names(folder: string): Promise<string[]> {
    return (await this.shell(this.home, 'ls -A "$1"', folder)).split('\n').filter((name) => name !== '');
  }

  /** Unmounts, and removes everything that was made. A mount that is left is taken off, and is an error. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const session of this.#running) session.kill();
    await this.mend(this.home, 'unmount', '--all', '--force').catch((error) => failures.push(error));
    for (const path of leftoverMounts(this.home)) failures.push(new Error(`${path} was still mounted at the end`));
    await this.stub.close();
    await this.#loopback.close();
    await this.#user.remove();
    // Codex makes it there whatever TMPDIR says.
    if (isRoot) rmSync(`/tmp/codex-daemon-${this.#user.uid}`, { recursive: true, force: true });
    if (failures.length > 0) throw new AggregateError(failures, 'the workspace did not end well');
  }

  #environment(home: string): Record<string, string> {
    const path = `${dirname(this.#binary)}:${process.env['PATH']}`;
    // Codex does not work in a home that lies among temporary files.
    return { HOME: home, MEND_STORE_DIR: this.store, PATH: path, TMPDIR: join(home, 'tmp') };
  }

  async #run(argv: readonly [string, ...string[]], home: string, cwd = this.repository): Promise<string> {
    const ended = await this.#user.run(argv, { cwd, env: this.#environment(home), timeout: 200 });
    if (ended.code !== 0) throw new Error(`${argv.slice(0, 6).join(' ')} ended with ${ended.code}: ${ended.stderr}`);
    return ended.stdout;
  }
}
