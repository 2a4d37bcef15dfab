import type { Summary } from '../../store/summary-table.js';
import { bareMeta, type ConversationMeta, placeOf } from './conversation-meta.js';
import { columnsOf, textOf } from './summary-row.js';

/** Folder of the tree with a file for each summary. */
export const SUMMARY_FOLDER = 'rollout_summaries';

/** The digits of Codex's short hash, and how many there are of it. */
const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const HASH_LENGTH = 4;
/** Characters that Codex takes of a slug. */
const SLUG_LENGTH = 60;

/** A summary as a file of the memory folder. */
export interface SummaryFile {
  readonly path: string;
  readonly bytes: Buffer;
  /** µs since the epoch. */
  readonly mtime: number;
}

/** The file that Codex itself would make of a summary; another name or text would be replaced at its next consolidation. */
export function summaryFile(
  summary: Pick<Summary, 'thread' | 'updated' | 'row'>,
  meta: ConversationMeta,
  home: string,
): SummaryFile {
  const { thread, updated } = summary;
  const head = [
    `thread_id: ${thread}`,
    `updated_at: ${seconds(updated * 1000)}+00:00`,
    `rollout_path: ${home}/${placeOf(meta)}`,
    `cwd: ${meta.cwd}`,
    ...(meta.git?.branch === undefined ? [] : [`git_branch: ${meta.git.branch}`]),
  ];
  const text = `${head.join('\n')}\n\n${textOf(columnsOf(summary), 'rollout_summary')}\n`;
  return {
    path: pathOf(summary),
    bytes: Buffer.from(text),
    mtime: updated * 1e6,
  };
}

/** Where Codex writes a summary. */
export function pathOf(summary: Pick<Summary, 'thread' | 'updated' | 'row'>): string {
  const slug = textOf(columnsOf(summary), 'rollout_slug');
  return `${SUMMARY_FOLDER}/${stemOf(summary.thread, summary.updated, slug)}.md`;
}

/** The conversation that a file in the tree is the summary of; undefined where it is none. */
export function threadOfFile(path: string, bytes: Buffer): string | undefined {
  if (!path.startsWith(`${SUMMARY_FOLDER}/`)) return undefined;
  return /^thread_id: ([0-9A-Za-z-]+)$/m.exec(bytes.subarray(0, 4096).toString())?.[1];
}

/** Whether a file says itself that it is the summary of an earlier state. @param updated seconds since the epoch */
export function isOlder(bytes: Buffer, updated: number): boolean {
  const said = updatedOf(bytes);
  return said !== undefined && said < updated;
}

/** Of what time of its conversation a file says that it is, in seconds since the epoch; undefined where it does not. */
export function updatedOf(bytes: Buffer): number | undefined {
  const said = /^updated_at: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00)$/m.exec(bytes.subarray(0, 4096).toString())?.[1];
  const time = said === undefined ? Number.NaN : Date.parse(said) / 1000;
  return Number.isNaN(time) ? undefined : time;
}

/** What a file says below its header, as Codex has it in its database; undefined where it has no header. */
export function summaryIn(bytes: Buffer): string | undefined {
  const text = bytes.toString();
  const end = text.indexOf('\n\n');
  return end === -1 ? undefined : text.slice(end + 2).replace(/\n$/, '');
}

/** The slug in the name of a file; empty where there is none. */
export function slugOfFile(path: string): string {
  return /\/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9A-Za-z]{4}-([^/]+)\.md$/.exec(path)?.[1] ?? '';
}

function stemOf(thread: string, updated: number, slug: string): string {
  const began = bareMeta(thread, updated, '').timestamp.slice(0, 19).replaceAll(':', '-');
  let rest = Number.parseInt(thread.replaceAll('-', '').slice(-8), 16) % DIGITS.length ** HASH_LENGTH;
  let digits = '';
  for (let i = 0; i < HASH_LENGTH; i++) {
    digits = `${DIGITS[rest % DIGITS.length]}${digits}`;
    rest = Math.floor(rest / DIGITS.length);
  }
  const word = slug
    .slice(0, SLUG_LENGTH)
    .replace(/[^A-Za-z0-9]/g, '_')
    .toLowerCase()
    .replace(/_+$/, '');
  return word === '' ? `${began}-${digits}` : `${began}-${digits}-${word}`;
}

function seconds(millis: number): string {
  return new Date(millis).toISOString().slice(0, 19);
}
