import { closeSync, openSync, readSync } from 'node:fs';
import { THREAD } from './summary-row.js';

/** Bytes of the first line of a conversation that are read at most: it can hold the instructions that Codex began with. */
const FIRST_LINE_MOST = 1024 * 1024;

/** What Codex notes of a conversation, without anything that was said in it. */
export interface ConversationMeta {
  /** Its id. */
  readonly id: string;
  /** When it began, in ISO 8601. */
  readonly timestamp: string;
  readonly cwd: string;
  readonly git?: ConversationGit | undefined;
  readonly originator?: string | undefined;
  readonly cli_version?: string | undefined;
  readonly source?: unknown;
  readonly thread_source?: string | undefined;
  readonly model_provider?: string | undefined;
}

export interface ConversationGit {
  readonly commit_hash?: string | undefined;
  readonly branch?: string | undefined;
  readonly repository_url?: string | undefined;
}

const WORDS = ['originator', 'cli_version', 'thread_source', 'model_provider'] as const;
const GIT_WORDS = ['commit_hash', 'branch', 'repository_url'] as const;

/** The meta that a line of a conversation's file gives; undefined where it is another line. */
export function metaOfLine(line: string): ConversationMeta | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (!isRecord(value) || value['type'] !== 'session_meta' || !isRecord(value['payload'])) return undefined;
  return metaOfPayload(value['payload']);
}

/** Takes what is known of a conversation out of anything that has it. */
export function metaOfPayload(payload: Readonly<Record<string, unknown>>): ConversationMeta | undefined {
  const { id, timestamp, cwd, git, source } = payload;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof cwd !== 'string') return undefined;
  if (!THREAD.test(id) || Number.isNaN(Date.parse(timestamp))) return undefined;
  const texts = (from: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.flatMap((name) => (typeof from[name] === 'string' ? [[name, from[name]]] : [])));
  return {
    ...{ id, timestamp, cwd },
    ...texts(payload, WORDS),
    ...(source === undefined ? {} : { source }),
    ...(isRecord(git) ? { git: texts(git, GIT_WORDS) } : {}),
  };
}

/** Reads the meta of a conversation's file; nothing after the first line is read. */
export function readMeta(file: string): ConversationMeta | undefined {
  const fd = openSync(file, 'r');
  try {
    const parts: Buffer[] = [];
    for (let length = 0; length < FIRST_LINE_MOST; ) {
      const part = Buffer.alloc(64 * 1024);
      const count = readSync(fd, part, 0, part.length, null);
      const end = part.subarray(0, count).indexOf('\n');
      parts.push(part.subarray(0, end === -1 ? count : end));
      if (end !== -1 || count === 0) break;
      length += count;
    }
    return metaOfLine(Buffer.concat(parts).toString());
  } finally {
    closeSync(fd);
  }
}

/** The first line of the file of a conversation of which nothing else is there. */
export function stubOf(meta: ConversationMeta): string {
  const payload = { session_id: meta.id, ...meta };
  return `${JSON.stringify({ timestamp: meta.timestamp, type: 'session_meta', payload })}\n`;
}

/** The least that can be said of a conversation: when it began is part of its id (RFC 9562, version 7). */
export function bareMeta(thread: string, updated: number, cwd: string): ConversationMeta {
  const began = /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(thread)
    ? Number.parseInt(thread.slice(0, 13).replace('-', ''), 16)
    : updated * 1000;
  return { id: thread, timestamp: new Date(began).toISOString(), cwd };
}

/** Where Codex keeps a conversation, relative to a home. */
export function placeOf({ id, timestamp }: ConversationMeta): string {
  const [day = '', time = ''] = new Date(timestamp).toISOString().split('T');
  return `sessions/${day.replaceAll('-', '/')}/rollout-${day}T${time.slice(0, 8).replaceAll(':', '-')}-${id}.jsonl`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
