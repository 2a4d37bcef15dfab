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

/** How often Codex used a summary, and when last (seconds since the epoch); 0 for never. */
export interface SummaryUse {
  readonly count: number;
  readonly last: number;
}

export function useOf(row: Pick<Summary, 'row'>): SummaryUse {
  const { usage_count: count, last_usage: last } = columnsOf(row);
  return { count: typeof count === 'number' ? count : 0, last: isTime(last) ? last : 0 };
}

/** A summary with the use of another one of the same conversation, where that is more. */
export function withUseOf<Row extends Pick<Summary, 'row'>>(one: Row, other: Pick<Summary, 'row'> | undefined): Row {
  if (other === undefined) return one;
  const [own, more] = [useOf(one), useOf(other)];
  if (more.count <= own.count && more.last <= own.last) return one;
  const [usage_count, last_usage] = [Math.max(own.count, more.count), Math.max(own.last, more.last)];
  return { ...one, row: JSON.stringify({ ...columnsOf(one), usage_count, last_usage: last_usage || null }) };
}
