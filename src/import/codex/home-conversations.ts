import { hash } from 'node:crypto';
import { join } from 'node:path';
import { isSystemError } from '../../errors.js';
import { carried } from '../../store/carried.js';
import type { Conversation } from '../../store/conversation-table.js';
import type { Store } from '../../store/store.js';
import type { CodexLimits } from './codex-limits.js';
import { type ConversationFile, conversationFiles, placeFile, readLines } from './conversation-files.js';
import { bareMeta, type ConversationMeta, metaOfPayload, placeOf, readMeta, stubOf } from './conversation-meta.js';
import type { ConversationOwner } from './conversation-owner.js';
import { isInUse } from './home-in-use.js';

/** The limits of conversations. */
type ConversationLimits = Pick<CodexLimits, 'conversations' | 'conversationBytes'>;

/** The home of a project. */
export interface CarriedHome {
  /** Row id of the tree. */
  readonly tree: number;
  readonly home: string;
  /** The id of the home. */
  readonly id: string;
}

/** A conversation that is to be stored, as a whole or with what was added to it. */
interface Taken {
  readonly conversation: Conversation;
  readonly bytes: Buffer;
  readonly grown: boolean;
}

/** Takes the newest conversations of a project that a home has into the store; what was deleted there is deleted. */
export async function takeConversations(
  store: Store,
  { tree, home, id }: CarriedHome,
  owner: ConversationOwner,
  limits: ConversationLimits,
): Promise<void> {
  const { conversations } = carried(store.db);
  const withheld = conversations.withheld(tree);
  const files = conversationFiles(home).filter(({ thread }) => !withheld.has(thread));
  const known = new Map(conversations.of(tree).map((row) => [row.thread, row]));
  const taken = limits.conversations === 0 ? [] : await newest(home, files, known, owner, limits);
  const seen = [...conversations.seen(tree, id)].filter((thread) => !withheld.has(thread));
  const present = new Set(files.map(({ thread }) => thread));
  const deleted = seen.filter((thread) => !present.has(thread));
  const unseen = files.filter(({ thread }) => !seen.includes(thread) && known.has(thread));
  const over = tooMany([...known.values()], limits);
  if (taken.length + deleted.length + unseen.length + over.length === 0) return;
  store.write(() => {
    const now = new Map(conversations.of(tree).map((row) => [row.thread, row]));
    for (const { conversation, bytes, grown } of taken) {
      const { thread } = conversation;
      const earlier = now.get(thread);
      // Another process took it in meanwhile: the next time shows what is left to do.
      if (earlier && known.get(thread)?.sha256.equals(earlier.sha256) !== true) continue;
      conversations.put(tree, conversation, bytes, grown);
      conversations.see(tree, id, thread);
    }
    for (const { thread } of unseen) conversations.see(tree, id, thread);
    for (const thread of deleted) {
      conversations.delete(tree, thread);
      conversations.unsee(tree, id, thread);
    }
    for (const { thread } of tooMany(conversations.of(tree), limits)) conversations.delete(tree, thread);
  }, true);
}

/** Those of the newest conversations that the store has not, or not so. */
async function newest(
  home: string,
  files: readonly ConversationFile[],
  known: ReadonlyMap<string, Conversation>,
  owner: ConversationOwner,
  { conversations, conversationBytes }: ConversationLimits,
): Promise<Taken[]> {
  const taken: Taken[] = [];
  let count = 0;
  let bytes = 0;
  for (const file of files) {
    const { thread, place, mtime, size, archived, compressed } = file;
    if (count === conversations) break;
    if (archived || compressed || size > conversationBytes) continue;
    const stored = known.get(thread);
    let length = stored?.size ?? 0;
    if (stored?.mtime !== mtime || length > size) {
      const meta = metaOf(home, file);
      if (!meta || !(await owner.owns(meta))) continue;
      // The rest would be the first to go again.
      if (bytes + size > conversationBytes) break;
      const whole = readLines(home, file);
      // What has only its first line is no conversation (yet).
      if (!whole || whole.indexOf('\n') === whole.length - 1) continue;
      const grown = stored !== undefined && startsWith(whole, stored);
      // The other one was held on with, on another machine.
      if (stored && !grown && stored.mtime > mtime) continue;
      length = whole.length;
      const conversation = { thread, place, mtime, size: length, sha256: sha256(whole) };
      taken.push({ conversation, bytes: grown ? whole.subarray(stored.size) : whole, grown });
    }
    count += 1;
    bytes += length;
  }
  return taken;
}

function metaOf(home: string, { place }: ConversationFile): ConversationMeta | undefined {
  try {
    return readMeta(join(home, place));
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Whether a conversation goes on from what is stored of it. */
function startsWith(whole: Buffer, { size, sha256: digest }: Conversation): boolean {
  return whole.length >= size && sha256(whole.subarray(0, size)).equals(digest);
}

/** The oldest ones, beyond the limits. @param rows newest first */
function tooMany(rows: readonly Conversation[], limits: ConversationLimits): Conversation[] {
  let count = 0;
  let bytes = 0;
  return rows.filter(({ size }) => {
    count += 1;
    bytes += size;
    return count > limits.conversations || bytes > limits.conversationBytes;
  });
}

/**
 * Puts the conversations of a project into a home that lacks them, and for summaries whose conversation is not carried the
 * first line of it: Codex drops a summary whose conversation it does not know. What a home has is replaced by what it was held
 * on with elsewhere only while nobody uses the home.
 * @param checkout folder that is named for a conversation of which nothing is known
 */
export function bringConversations(store: Store, { tree, home, id }: CarriedHome, checkout: string): void {
  const { conversations } = carried(store.db);
  const files = new Map(conversationFiles(home).map((file) => [file.thread, file]));
  const brought: string[] = [];
  let inUse: boolean | undefined;
  for (const row of conversations.of(tree)) {
    const file = files.get(row.thread);
    if (file && !isBehind(file, row)) continue;
    // A Codex that has it open would go on writing to what was replaced.
    if (file) inUse ??= isInUse(home);
    if (file && inUse) continue;
    const bytes = conversations.bytes(tree, row.thread);
    const here = file && readLines(home, file);
    if (here && !here.equals(bytes.subarray(0, here.length))) continue;
    placeFile(home, file?.place ?? row.place, bytes, row.mtime);
    files.set(row.thread, { ...row, changed: row.mtime, archived: false, compressed: false });
    brought.push(row.thread);
  }
  if (brought.length > 0)
    store.write(() => {
      for (const thread of brought) conversations.see(tree, id, thread);
    }, true);
  for (const { thread, updated, meta } of carried(store.db).summaries.of(tree)) {
    if (files.has(thread)) continue;
    const known = (meta === null ? undefined : metaOfPayload(JSON.parse(meta))) ?? bareMeta(thread, updated, checkout);
    // Codex sums a conversation up again when it changed since.
    placeFile(home, placeOf(known), stubOf(known), updated * 1e6);
  }
}

/** Whether the store may have what a home has only the beginning of. */
function isBehind({ archived, compressed, size, mtime }: ConversationFile, row: Conversation): boolean {
  return !archived && !compressed && size < row.size && mtime < row.mtime;
}

function sha256(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer');
}
