import { hash } from 'node:crypto';
import type { Summary } from '../../store/summary-table.js';

/** The id of a conversation, which becomes part of the names of files. */
export const THREAD = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Seconds from the epoch that a `Date` can hold, on either side. */
const SECONDS_MOST = 8.64e12;

export function isTime(seconds: unknown): seconds is number {
  return typeof seconds === 'number' && Math.abs(seconds) <= SECONDS_MOST;
}

/** Columns of Codex's table `stage1_outputs`; which there are besides these depends on its version. */
export type SummaryColumns = Readonly<Record<string, string | number | null>>;

/** A row of Codex's table; undefined where it lacks what makes it one. */
export function summaryOf(columns: SummaryColumns): Omit<Summary, 'meta'> | undefined {
  const { thread_id: thread, source_updated_at: updated, generated_at: generated } = columns;
  if (typeof thread !== 'string' || !THREAD.test(thread) || !isTime(updated) || !isTime(generated)) return undefined;
  return { thread, updated, generated, row: JSON.stringify(columns) };
}

export function columnsOf({ row }: Pick<Summary, 'row'>): SummaryColumns {
  return JSON.parse(row) as SummaryColumns;
}

/** A text column; empty when there is none. */
export function textOf(columns: SummaryColumns, name: string): string {
  const value = columns[name];
  return typeof value === 'string' ? value : '';
}

/** What a summary says, and when it was made: what Codex counts of its use in one home makes no difference. */
export function digestOf({ updated, generated, row }: Pick<Summary, 'updated' | 'generated' | 'row'>): Buffer {
  const columns = columnsOf({ row });
  const said = ['raw_memory', 'rollout_summary', 'rollout_slug'].map((name) => columns[name] ?? null);
  return hash('sha256', JSON.stringify([updated, generated, ...said]), 'buffer');
}

/** Whether a summary is of a later state of its conversation than another, or was made later of the same. */
export function isNewer(one: Pick<Summary, 'updated' | 'generated'>, other: typeof one): boolean {
  return one.updated === other.updated ? one.generated > other.generated : one.updated > other.updated;
}
