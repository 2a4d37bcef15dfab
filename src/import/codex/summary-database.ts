import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { isSystemError } from '../../errors.js';
import type { Summary } from '../../store/summary-table.js';
import { columnsOf, digestOf, isNewer, type SummaryColumns, summaryOf, useOf, withUseOf } from './summary-row.js';

/** How long, in ms, a write waits for a Codex that writes. */
const BUSY = 5000;
const TEMPORARY = /^\.mend\.copy\.(\d+)\./;

/** What a copy of a summary database holds. */
export interface SummaryCopy {
  readonly rows: ReadonlyMap<string, Omit<Summary, 'meta'>>;
  /** Bytes of the pages in use. */
  readonly bytes: number;
  /** When the database was made: another one has another time. */
  readonly made: string;
  /** The number of its newest migration. */
  readonly edition: number;
  readonly progress: number;
  /** The database without its rows; undefined where it is over the limit. */
  readonly template: Buffer | undefined;
}

/**
 * Copies a database that another process may be writing, with SQLite's backup, and reads the copy.
 * @param most bytes from which on the rows are not read
 * @returns undefined when there is none, or it has no summaries in a form that is known
 * @throws when the copy is damaged, as `SQLITE_CORRUPT`
 */
export async function copySummaries(file: string, most: number): Promise<SummaryCopy | undefined> {
  if (!isThere(file)) return undefined;
  const folder = temporaryFolder(dirname(file));
  const copy = join(folder, 'copy.sqlite');
  try {
    const source = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY });
    try {
      // In one step, so that no write in between has it begin anew.
      await source.backup(copy, { progress: () => 0x7fff_ffff });
    } finally {
      source.close();
    }
    return readCopy(copy, most);
  } catch (error) {
    if (isSystemError(error, 'SQLITE_NOTADB')) return undefined;
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same for the bytes of a database; nothing is written where that lies. */
export function readSummaries(bytes: Buffer, most: number): SummaryCopy | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'mend-read-'));
  try {
    const copy = join(folder, 'copy.sqlite');
    writeFileSync(copy, bytes, { mode: 0o600 });
    return readCopy(copy, most);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readCopy(copy: string, most: number): SummaryCopy | undefined {
  const db = new Database(copy, { fileMustExist: true });
  try {
    if (db.pragma('integrity_check(1)', { simple: true }) !== 'ok')
      throw Object.assign(new Error('the copy of a summary database is damaged'), { code: 'SQLITE_CORRUPT' });
    const tables = tablesOf(db);
    if (!tables.has('stage1_outputs') || !tables.has('_sqlx_migrations')) return undefined;
    const pragma = (name: string): number => Number(db.pragma(name, { simple: true }));
    const bytes = (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
    const [made, edition] = db
      .prepare('SELECT CAST(min(installed_on) AS TEXT), max(version) FROM _sqlx_migrations')
      .raw()
      .get() as [string | null, number | null];
    const about = { bytes, made: made ?? '', edition: edition ?? 0 };
    if (bytes > most) return { ...about, rows: new Map(), progress: 0, template: undefined };
    const progress = tables.has('consolidation_progress')
      ? Number(db.prepare('SELECT max(max_thread_count) FROM consolidation_progress').pluck().get() ?? 0)
      : 0;
    const rows = new Map<string, Omit<Summary, 'meta'>>();
    for (const columns of db.prepare('SELECT * FROM stage1_outputs').all() as SummaryColumns[]) {
      const row = summaryOf(columns);
      if (row) rows.set(row.thread, row);
    }
    for (const table of ['stage1_outputs', 'jobs']) if (tables.has(table)) db.exec(`DELETE FROM ${table}`);
    db.pragma('journal_mode = DELETE');
    db.exec('VACUUM');
    db.close();
    return { ...about, rows, progress, template: readFileSync(copy) };
  } finally {
    db.close();
  }
}

/** Makes a database where there is none. */
export function makeDatabase(file: string, template: Buffer): void {
  const folder = temporaryFolder(dirname(file));
  const fresh = join(folder, 'fresh.sqlite');
  try {
    writeFileSync(fresh, template, { mode: 0o600, flag: 'wx' });
    linkSync(fresh, file);
  } catch (error) {
    // Codex made one meanwhile.
    if (!isSystemError(error, 'EEXIST')) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Changes to the rows of a home. */
export interface SummaryChanges {
  readonly put: readonly Summary[];
  /** Summaries that are there, and were used more elsewhere. */
  readonly used: readonly Summary[];
  /** Conversations, each with the digest of the row that is to go. */
  readonly drop: ReadonlyMap<string, Buffer>;
  /** Raises the number of conversations that were ever consolidated; 0 to leave it. */
  readonly progress: number;
}

/**
 * Changes rows of a database that Codex may have open; what it changed meanwhile stays. What was consolidated in other homes
 * was not in this one.
 */
export function changeSummaries(file: string, { put, used, drop, progress }: SummaryChanges): void {
  const db = new Database(file, { fileMustExist: true, timeout: BUSY });
  try {
    db.transaction(() => {
      const table = db.pragma('table_info(stage1_outputs)') as ColumnInfo[];
      const known = new Set(table.map(({ name }) => name));
      const needed = Object.fromEntries(table.filter(isNeeded).map(({ name, type }) => [name, emptyOf(type)]));
      const find = db.prepare<[string], SummaryColumns>('SELECT * FROM stage1_outputs WHERE thread_id = ?');
      const present = (thread: string): Omit<Summary, 'meta'> | undefined => summaryOf(find.get(thread) ?? {});
      for (const summary of put) {
        const now = present(summary.thread);
        if (now && isNewer(now, summary)) continue;
        const given = Object.entries(columnsOf(withUseOf(summary, now))).filter(
          ([name, value]) => value !== null || !(name in needed),
        );
        const columns = { ...needed, ...Object.fromEntries(given), ...NOT_CONSOLIDATED };
        const names = Object.keys(columns).filter((name) => known.has(name));
        const list = names.map((name) => `"${name}"`).join(', ');
        const marks = names.map((name) => `@${name}`).join(', ');
        db.prepare(`INSERT OR REPLACE INTO stage1_outputs (${list}) VALUES (${marks})`).run(columns);
      }
      for (const summary of known.has('usage_count') && known.has('last_usage') ? used : []) {
        const { count, last } = useOf(summary);
        db.prepare(
          `UPDATE stage1_outputs SET usage_count = max(coalesce(usage_count, 0), @count),
             last_usage = nullif(max(coalesce(last_usage, 0), @last), 0) WHERE thread_id = @thread`,
        ).run({ thread: summary.thread, count, last });
      }
      const remove = db.prepare('DELETE FROM stage1_outputs WHERE thread_id = ?');
      for (const [thread, digest] of drop) {
        const now = present(thread);
        if (now && digestOf(now).equals(digest)) remove.run(thread);
      }
      if (progress > 0 && tablesOf(db).has('consolidation_progress'))
        db.prepare('UPDATE consolidation_progress SET max_thread_count = max(max_thread_count, ?)').run(progress);
    }).immediate();
  } finally {
    db.close();
  }
}

/** A row of `PRAGMA table_info`. */
interface ColumnInfo {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly dflt_value: unknown;
}

/** Whether a row must have the column: an earlier Codex may have made one without. */
function isNeeded({ notnull, dflt_value: preset }: ColumnInfo): boolean {
  return notnull !== 0 && preset === null;
}

function emptyOf(type: string): string | number {
  return /INT|REAL|NUM/i.test(type) ? 0 : '';
}

const NOT_CONSOLIDATED = { selected_for_phase2: 0, selected_for_phase2_source_updated_at: null };

function tablesOf(db: Database.Database): Set<string> {
  return new Set(db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[]);
}

export function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

/** A folder for a copy. Those of processes that were killed are taken away. */
function temporaryFolder(home: string): string {
  for (const name of readdirSync(home)) {
    const pid = TEMPORARY.exec(name)?.[1];
    if (pid !== undefined && !isThereProcess(Number(pid))) rmSync(join(home, name), { recursive: true, force: true });
  }
  const folder = join(home, `.mend.copy.${process.pid}.${++copies}`);
  mkdirSync(folder, { mode: 0o700 });
  chmodSync(folder, 0o700);
  return folder;
}

let copies = 0;

function isThereProcess(pid: number): boolean {
  return lstatSync(`/proc/${pid}`, { throwIfNoEntry: false }) !== undefined;
}
