import { mkdirSync, mkdtempSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { inject } from 'vitest';

/** The tables of a summary database, as Codex 0.171.0 makes them. */
export const SUMMARY_TABLES = `
CREATE TABLE _sqlx_migrations (
  version BIGINT PRIMARY KEY, description TEXT NOT NULL, installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  success BOOLEAN NOT NULL, checksum BLOB NOT NULL, execution_time BIGINT NOT NULL);
CREATE TABLE stage1_outputs (
  thread_id TEXT PRIMARY KEY, source_updated_at INTEGER NOT NULL, raw_memory TEXT NOT NULL, rollout_summary TEXT NOT NULL,
  rollout_slug TEXT, generated_at INTEGER NOT NULL, usage_count INTEGER, last_usage INTEGER,
  selected_for_phase2 INTEGER NOT NULL DEFAULT 0, selected_for_phase2_source_updated_at INTEGER);
CREATE INDEX idx_stage1_outputs_source_updated_at ON stage1_outputs(source_updated_at DESC, thread_id DESC);
CREATE TABLE jobs (
  kind TEXT NOT NULL, job_key TEXT NOT NULL, status TEXT NOT NULL, worker_id TEXT, ownership_token TEXT, started_at INTEGER,
  finished_at INTEGER, lease_until INTEGER, retry_at INTEGER, retry_remaining INTEGER NOT NULL, last_error TEXT,
  input_watermark INTEGER, last_success_watermark INTEGER, PRIMARY KEY (kind, job_key));
CREATE TABLE consolidation_progress (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1), max_thread_count INTEGER NOT NULL DEFAULT 0);
INSERT INTO consolidation_progress VALUES (1, 0);
INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time)
  VALUES (1, 'memories', @made, 1, x'00', 1), (2, 'consolidation progress', @made, 1, x'00', 1);
`;

/** The list of conversations, with the columns of Codex 0.171.0 that say something of one. */
const LIST_TABLE = `
CREATE TABLE threads (
  id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  source TEXT NOT NULL, model_provider TEXT NOT NULL, cwd TEXT NOT NULL, title TEXT NOT NULL, sandbox_policy TEXT NOT NULL,
  approval_mode TEXT NOT NULL, git_sha TEXT, git_branch TEXT, git_origin_url TEXT, cli_version TEXT NOT NULL DEFAULT '',
  first_user_message TEXT NOT NULL DEFAULT '', thread_source TEXT, preview TEXT NOT NULL DEFAULT '', originator TEXT);
`;

/** A time that a summary was made, seconds since the epoch. */
export const MADE = 1_790_000_000;

export interface SummaryGiven {
  /** Last digit of the conversation's id. */
  readonly of: number;
  readonly says?: string;
  readonly updated?: number;
  readonly generated?: number;
  readonly notes?: string;
}

/** The id of a conversation. */
export function threadOf(number: number): string {
  return `019f0000-0000-7000-8000-${String(number).padStart(12, '0')}`;
}

/** A Codex home on disk, with databases in WAL mode as Codex has them. */
export class CodexHome {
  readonly path: string;

  constructor(path = mkdtempSync(join(inject('runFolder'), 'codex-'))) {
    this.path = path;
  }

  /** Gives the home the mark of one that mend made. */
  mark(id: string): this {
    writeFileSync(join(this.path, '.mend-home.json'), JSON.stringify({ id, user: '/home/u/.codex' }));
    return this;
  }

  /** Opens a database, made when it is missing; the caller closes it. */
  open(name = 'memories_v2_1.sqlite', made = '2026-11-30 20:09:21'): Database.Database {
    const db = new Database(join(this.path, name));
    db.pragma('journal_mode = WAL');
    if (db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0)
      db.exec(name.startsWith('state') ? LIST_TABLE : SUMMARY_TABLES.replaceAll('@made', `'${made}'`));
    return db;
  }

  /** Has Codex sum up a conversation. */
  sumUp({ of, says = 'said', updated = MADE, generated = MADE, notes = '' }: SummaryGiven, name?: string): this {
    const db = this.open(name);
    db.prepare(
      `INSERT OR REPLACE INTO stage1_outputs (thread_id, source_updated_at, raw_memory, rollout_summary, rollout_slug,
         generated_at) VALUES (?, ?, ?, ?, 'a_slug', ?)`,
    ).run(threadOf(of), updated, notes, says, generated);
    db.close();
    return this;
  }

  /** Has Codex drop a summary. */
  drop(of: number, name?: string): this {
    const db = this.open(name);
    db.prepare('DELETE FROM stage1_outputs WHERE thread_id = ?').run(threadOf(of));
    db.close();
    return this;
  }

  /** What the database says of each conversation, by the last digits of its id. */
  says(name?: string): Record<number, string> {
    const db = this.open(name);
    const rows = db.prepare('SELECT thread_id, rollout_summary FROM stage1_outputs').raw().all() as [string, string][];
    db.close();
    return Object.fromEntries(rows.map(([thread, text]) => [Number(thread.slice(-12)), text]));
  }

  /** Enters a conversation in Codex's list. */
  enlist(of: number, { cwd, origin = null }: { readonly cwd: string; readonly origin?: string | null }): this {
    const db = this.open('state_5.sqlite');
    db.prepare(
      `INSERT INTO threads (id, rollout_path, created_at, updated_at, source, model_provider, cwd, title, sandbox_policy,
         approval_mode, git_branch, git_origin_url, first_user_message, preview)
       VALUES (?, '/gone', ${MADE}, ${MADE}, 'cli', 'openai', ?, 'title', '{}', 'never', 'main', ?, 'spoken', 'spoken')`,
    ).run(threadOf(of), cwd, origin);
    db.close();
    return this;
  }

  /** Lays the file of a conversation. @param lines what comes after the first line */
  hold(of: number, lines: readonly string[], { cwd = '/', origin = '', age = 0 } = {}): this {
    const git = origin === '' ? {} : { git: { repository_url: origin } };
    const timestamp = new Date(MADE * 1000).toISOString();
    const payload = { id: threadOf(of), timestamp, cwd, source: 'cli', base_instructions: { text: 'be good' }, ...git };
    const text = [JSON.stringify({ timestamp, type: 'session_meta', payload }), ...lines].map((line) => `${line}\n`);
    const file = join(this.path, this.placeOf(of));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text.join(''));
    const time = Date.now() / 1000 - age;
    utimesSync(file, time, time);
    return this;
  }

  placeOf(of: number): string {
    return `sessions/2026/09/21/rollout-2026-09-21T13-33-20-${threadOf(of)}.jsonl`;
  }

  /** The conversations that lie here, with their text, by the last digits of their ids. */
  held(): Record<number, string> {
    const names = readdirSync(this.path, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.jsonl'),
    );
    return Object.fromEntries(
      names.map((name) => [Number(name.slice(-18, -6)), readFileSync(join(this.path, name), 'utf8')]),
    );
  }
}
