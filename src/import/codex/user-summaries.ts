import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { isSystemError } from '../../errors.js';
import type { Summary } from '../../store/summary-table.js';
import { type ConversationMeta, metaOfPayload } from './conversation-meta.js';
import type { ConversationOwner } from './conversation-owner.js';
import { readOnly } from './read-only.js';
import { isNewer, isTime, type SummaryColumns, summaryOf } from './summary-row.js';

/** Databases of a home with summaries; older versions of Codex kept them with the list of conversations. */
const SUMMARIES = /^(?:memories(?:_v2)?|state)_\d+\.sqlite$/;
/** Databases with the list of conversations. */
const LISTS = /^state_(\d+)\.sqlite$/;

/** The columns that are read of the list of conversations: none has anything that was said. */
const COLUMNS = [
  ...['id', 'cwd', 'git_origin_url', 'git_branch', 'git_sha', 'created_at', 'source', 'originator'],
  ...['cli_version', 'thread_source', 'model_provider'],
];

/** A summary in a home of the user, with what is known of its conversation. */
export interface UserSummary {
  readonly summary: Omit<Summary, 'meta'>;
  readonly meta: ConversationMeta;
}

/**
 * The summaries in a home of the user whose conversations belong to a project. Only Codex's databases are read: neither a
 * conversation nor the memory folder, login or settings. Nothing is written.
 */
export async function userSummaries(home: string, owner: ConversationOwner): Promise<UserSummary[]> {
  const names = namesIn(home);
  const summaries = new Map<string, Omit<Summary, 'meta'>>();
  for (const name of names.filter((one) => SUMMARIES.test(one)))
    for (const summary of readOnly(join(home, name), readSummaries) ?? []) {
      const known = summaries.get(summary.thread);
      if (!known || isNewer(summary, known)) summaries.set(summary.thread, summary);
    }
  if (summaries.size === 0) return [];
  const found: UserSummary[] = [];
  const lists = names.filter((name) => LISTS.test(name)).sort((one, other) => numberOf(other) - numberOf(one));
  for (const name of lists)
    for (const meta of readOnly(join(home, name), readList) ?? []) {
      const summary = summaries.get(meta.id);
      if (!summary) continue;
      // The newest list that has a conversation counts.
      summaries.delete(meta.id);
      if (await owner.owns(meta)) found.push({ summary, meta });
    }
  return found.sort((one, other) => (one.summary.thread < other.summary.thread ? -1 : 1));
}

function readSummaries(db: Database.Database): Omit<Summary, 'meta'>[] {
  if (columnsIn(db, 'stage1_outputs').size === 0) return [];
  return (db.prepare('SELECT * FROM stage1_outputs').all() as SummaryColumns[]).flatMap((row) => summaryOf(row) ?? []);
}

function readList(db: Database.Database): ConversationMeta[] {
  const columns = columnsIn(db, 'threads');
  const wanted = COLUMNS.filter((name) => columns.has(name));
  if (!wanted.includes('id') || !wanted.includes('cwd')) return [];
  const rows = db.prepare(`SELECT ${wanted.join(', ')} FROM threads`).all() as SummaryColumns[];
  return rows.flatMap((row) => metaOfRow(row) ?? []);
}

function metaOfRow(row: SummaryColumns): ConversationMeta | undefined {
  const { git_origin_url: repository_url, git_branch: branch, git_sha: commit_hash, created_at: created } = row;
  const git = { repository_url, branch, commit_hash };
  const known = Object.entries(git).filter(([, value]) => typeof value === 'string' && value !== '');
  const timestamp = new Date(isTime(created) ? created * 1000 : 0).toISOString();
  return metaOfPayload({ ...row, timestamp, ...(known.length > 0 ? { git: Object.fromEntries(known) } : {}) });
}

function columnsIn(db: Database.Database, table: string): Set<string> {
  return new Set((db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name));
}

function numberOf(name: string): number {
  return Number(LISTS.exec(name)?.[1]);
}

function namesIn(home: string): string[] {
  try {
    return readdirSync(home).sort();
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}
