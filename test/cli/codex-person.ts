import { join } from 'node:path';
import { expect } from 'vitest';
import { threadOf } from '../import/codex-home.js';
import type { Person } from './person.js';

/** What `mend env codex --json` prints. */
export interface CodexEnv {
  readonly memory: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Where Codex is prepared: defaults are the person's home, repository and store. */
export interface CodexAt {
  /** Another home of the person's, as on another machine with the same store. */
  readonly home?: string;
  readonly cwd?: string;
  /** The store's folder, as it is to be written. */
  readonly store?: string;
}

/** Prepares Codex, and says nothing on standard error. */
export async function codexEnv(person: Person, at: CodexAt = {}): Promise<CodexEnv> {
  const { home = person.user.home, cwd = person.repository, store = person.store } = at;
  const variables = { HOME: home, MEND_STORE_DIR: store };
  const result = await person.mend(['env', 'codex', '--json'], { cwd, env: variables });
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(result.stdout) as CodexEnv;
}

/** Runs a shell script as the person, its arguments as `$1` and on; it must succeed and say nothing on standard error. */
export async function shellOf(person: Person, script: string, ...args: string[]): Promise<string> {
  const result = await person.user.run(['sh', '-euc', script, 'sh', ...args]);
  expect(result, script).toMatchObject({ code: 0, stderr: '' });
  return result.stdout;
}

/** Makes another repository of the person's, and gives back its path. */
export async function otherRepository(person: Person, name: string): Promise<string> {
  const folder = join(person.user.home, name);
  expect(await person.user.run(['git', 'init', '--quiet', folder])).toMatchObject({ code: 0 });
  return folder;
}

const SQLITE = new URL('../../node_modules/better-sqlite3/lib/index.js', import.meta.url).pathname;

/** Runs statements on a database as the person; what the last one, a query, gives is resolved to. */
export async function sqlOf<T>(person: Person, file: string, statements: string, query = 'SELECT 1'): Promise<T[]> {
  const script = `import Database from '${SQLITE}';
    const db = new Database(process.argv[1], { timeout: 20000 });
    db.exec(process.argv[2]);
    console.log(JSON.stringify(db.prepare(process.argv[3]).all()));`;
  const node = [process.execPath, '--input-type=module', '-e', script, file, statements, query];
  return JSON.parse(await shellOf(person, 'exec "$@"', ...node)) as T[];
}

/** Where a conversation lies in a home. @param of last digits of its id */
export function conversationPlace(of: number): string {
  return `sessions/2026/11/28/rollout-2026-11-28T20-09-15-${threadOf(of)}.jsonl`;
}

/**
 * Lays a conversation into a home, held in the person's repository.
 * @param lines what is said in it
 * @param time of its last change, as touch(1) takes it
 */
export async function layConversation(
  person: Person,
  home: string,
  of: number,
  lines: readonly string[],
  time: string,
): Promise<void> {
  const timestamp = '2026-11-28T20:09:15.000Z';
  const payload = { id: threadOf(of), timestamp, cwd: person.repository, source: 'cli' };
  const text = [{ timestamp, type: 'session_meta', payload }, ...lines.map((says) => ({ says }))];
  const script = 'mkdir -p "$(dirname "$1")"; printf "%s\\n" "$2" >"$1"; touch -t "$3" "$1"';
  const file = join(home, conversationPlace(of));
  await shellOf(person, script, file, text.map((line) => JSON.stringify(line)).join('\n'), time);
}
