import { createHash } from 'node:crypto';
import type { NodeRow } from '../ports/store.js';
import { candidateBases, isEditor } from '../session/base.js';
import type { Known } from '../session/knowledge.js';
import type { Meeting, Reconciled } from '../session/reconcile.js';
import type { Session } from '../session/session.js';
import type { FileNode } from './node.js';
import { unseenBy } from './unseen.js';
import type { View } from './view.js';

/** Merges texts, the long ones somewhere else. */
export interface Merger {
  /** While true, everything is merged at once, however long that takes. */
  inPlace: boolean;
  /**
   * The result when it is known or quick to get. Else a promise: once it has resolved, the same key has its result.
   * @param key names the contents that meet
   */
  reconcile(meeting: Meeting, key: () => string): Reconciled | Promise<void>;
}

/** Thrown, with nothing changed, by what needs a merge that takes long; to be tried again when `ready` has resolved. */
export class Unmerged extends Error {
  override readonly name = 'Unmerged';
  readonly ready: Promise<void>;

  constructor(ready: Promise<void>) {
    super('the merge is not done yet');
    this.ready = ready;
  }
}

/** A text that is about to be saved. */
export interface Saving {
  readonly path: string;
  readonly session: Session;
  /** The process whose text it is. */
  readonly pid: number;
  /** What its session knew when it was written. */
  readonly known: Known | undefined;
  /** When it began, in µs since the epoch. */
  readonly begun: number;
  /** Its bytes, read only where they are needed. */
  readonly text: () => Buffer;
  /** The content whose bytes are still in the text; undefined when nothing of a file is left in it. */
  readonly madeFrom: number | null | undefined;
  /** The content that the file had when it was begun; null where there was none, undefined where that was not seen. */
  readonly began: { readonly content: number | null; readonly empty: boolean } | undefined;
  /** Bytes of the quota that are held for it already. */
  readonly claimed: number;
}

/** What the new head is to be. */
export type Decision =
  /** The text as it is. */
  | { readonly kind: 'text' }
  /** What both sides have, merged by a base. */
  | { readonly kind: 'merged'; readonly bytes: Buffer; readonly base: number | null }
  /** The text, and what it replaces is kept as the losing side of a conflict (spec §6.5). */
  | { readonly kind: 'conflict' };

const TEXT: Decision = { kind: 'text' };
const EMPTY = Buffer.alloc(0);

/**
 * Decides how a session's text meets the head of a file (spec §4.5, §5.2–5.5).
 * @param node the file, undefined when the path has none
 * @throws {Unmerged} when the merge takes long
 */
export function decide(view: View, node: FileNode | undefined, saving: Saving): Decision {
  const { store } = view.tree.services;
  const unseen = unseenBy(view, node, saving.path, saving);
  const head = node?.content ?? unseen?.head ?? null;
  if (head === null) return TEXT;
  const ids = unseen ? [unseen.known] : basesOf(view, node, saving);
  if (ids.every((id) => id === head)) return TEXT;
  const headBytes = store.contentIfKept(head);
  if (!headBytes) return TEXT;
  const bases = ids.map((id) => (id === null ? EMPTY : store.contentIfKept(id)));
  // Where the bytes of one are gone, nothing tells whether the text was made from it.
  const kept = bases.every((bytes) => bytes !== undefined) ? ids : [];
  const text = saving.text();
  const meeting: Meeting = {
    bases: kept.length > 0 ? bases.filter((bytes) => bytes !== undefined) : [],
    reread: wasRead(view, saving),
    head: headBytes,
    text,
    options: view.tree.mergeOptions(saving.path),
  };
  const reconciled = view.tree.services.merger.reconcile(meeting, () => {
    const digest = createHash('sha256').update(text).digest('base64');
    return `${kept.map((id) => id ?? 0)}/${meeting.reread}/${head}/${view.tree.id}/${saving.path}/${digest}`;
  });
  if (reconciled instanceof Promise) throw new Unmerged(reconciled);
  const { result } = reconciled;
  const base = kept[reconciled.base] ?? null;
  if (base === head) return TEXT;
  if (result.kind === 'refused' || !fits(view, node, result.bytes, saving.claimed)) return { kind: 'conflict' };
  return result.bytes.equals(text) ? TEXT : { kind: 'merged', bytes: result.bytes, base };
}

/**
 * Stores a new head with the entries in the history that a decision asks for; for use in a transaction.
 * @param how `recordHead` for a row that is stored already
 * @param before the content that is replaced
 * @param written the session's own text
 */
export function storeDecision(
  view: View,
  how: 'saveHead' | 'recordHead',
  decision: Decision,
  {
    row,
    path,
    before,
    session,
    written,
  }: {
    readonly row: NodeRow;
    readonly path: string;
    readonly before: number | null;
    readonly session: number;
    readonly written: number;
  },
): void {
  const { store } = view.tree.services;
  if (decision.kind === 'merged') {
    store[how](row, path, 'merged', session, { base: decision.base, written });
    return;
  }
  if (decision.kind === 'conflict' && before !== null)
    store.addVersion({ tree: row.tree, path, content: before, kind: 'conflict', session });
  store[how](row, path, 'saved', session);
}

/** What the text may have been made from; none when the session replaces a file that it never saw. */
function basesOf(view: View, node: FileNode | undefined, saving: Saving): readonly (number | null)[] {
  if (saving.madeFrom !== undefined) return [saving.madeFrom];
  const { processes } = view.tree.services;
  const { pid, begun, known } = saving;
  const edits = known?.read?.pid === pid && isEditor(processes.executable(pid) ?? '');
  const bases = candidateBases(known, { pid, begun, edits });
  if (bases.length > 0) return bases;
  if (saving.began?.empty) return [saving.began.content];
  // A file that came to be after the save had begun was missing for who began it.
  return !saving.began && node && node.born > begun ? [null] : [];
}

/** Whether the last read was for its own sake: done more than once, or by a program that was started since. */
function wasRead(view: View, { known, pid }: Saving): boolean {
  if (!known?.read) return false;
  return known.read.times > 1 || (view.tree.services.processes.started(pid) ?? 0) > (known.settled?.at ?? 0);
}

/** Whether a merged text is within the limits; where it is not, both sides are kept apart. */
function fits(view: View, node: FileNode | undefined, bytes: Buffer, claimed: number): boolean {
  const { quota } = view.tree;
  return bytes.length <= quota.limits.fileBytes && quota.allowsBytes(bytes.length - (node?.size ?? 0) - claimed);
}
