import { constants } from 'node:os';
import type { Session } from '../session/session.js';
import type { Draft } from './draft.js';
import { Draft as DraftClass } from './draft.js';
import type { WriteHandle } from './handles.js';
import { type FileNode, pathOf, savedAs } from './node.js';
import { noteDraft } from './notes.js';
import { claimFor, endDraft } from './saving.js';
import type { View } from './view.js';

const { errno } = constants;

/** Rows of writes after which a draft's rows are replaced by its bytes as they are. */
const FOLD_AFTER = 4096;

/**
 * The draft of a session on a file, made when there is none.
 * @param id of a draft that an earlier process began
 */
export function draftOf(view: View, node: FileNode, session: Session, id?: number): Draft {
  node.drafts ??= new Map();
  let draft = node.drafts.get(session.key);
  if (!draft) {
    draft = new DraftClass(id ?? view.tree.services.store.newId(), session, node);
    node.drafts.set(session.key, draft);
  }
  return draft;
}

/** Lets go of a draft that no handle leads to and that holds nothing. */
export function dropDraft(draft: Draft): void {
  if (draft.handles > 0 || draft.dirty) return;
  draft.node.drafts?.delete(draft.session.key);
  if (draft.node.drafts?.size === 0) draft.node.drafts = undefined;
}

export function contentOf(view: View, content: number | null): Buffer {
  return content === null ? EMPTY : view.tree.services.store.content(content);
}

const EMPTY = Buffer.alloc(0);

/** One change of a draft: bytes at a position, or a new length. */
type Change = { readonly position: number; readonly data: Buffer } | { readonly length: number };

/**
 * Applies a change to a draft and stores it before it returns (spec §4.4).
 * Returns 0, or EFBIG or ENOSPC with nothing changed.
 * @param snapshot the content a clean draft starts from
 * @param pid the process that changes it
 */
export function changeDraft(view: View, draft: Draft, snapshot: number | null, change: Change, pid: number): number {
  const { store, clock } = view.tree.services;
  const now = clock();
  const fresh = !draft.dirty;
  const length = fresh ? contentOf(view, snapshot).length : draft.size;
  const after = 'data' in change ? Math.max(length, change.position + change.data.length) : change.length;
  if (after > view.tree.quota.limits.fileBytes && after > length) {
    view.tree.quota.refused = pathOf(draft.node);
    return errno.EFBIG;
  }
  if (!claimFor(view, draft, after)) return errno.ENOSPC;
  if (fresh) draft.begin(snapshot, contentOf(view, snapshot), now);
  const { stored, writes } = draft;
  try {
    store.write(() => storeChange(view, draft, change, draft.timeAt(now)));
  } catch (error) {
    draft.stored = stored;
    draft.writes = writes;
    if (fresh) endDraft(view, draft);
    else claimFor(view, draft, draft.size);
    throw error;
  }
  if ('data' in change) draft.write(change.position, change.data, now);
  else draft.truncate(change.length, now);
  noteChange(view, draft, pid, fresh || draft.writes !== writes + 1);
  if (fresh) view.tree.refresh(draft.node, view);
  return 0;
}

/** Notes who changed a draft, and what its session knew then. */
export function noteChange(view: View, draft: Draft, pid: number, isNews: boolean): void {
  const known = view.tree.services.knowledge.of(draft.session.key, view.tree.id, savedAs(draft.node));
  const isSame = draft.known === known && draft.writer === pid;
  draft.known = known;
  draft.writer = pid;
  if (isNews || !isSame) noteDraft(view, draft);
}

function storeChange(view: View, draft: Draft, change: Change, at: number): void {
  const { store } = view.tree.services;
  if (draft.writes >= FOLD_AFTER) {
    draft.fold();
    store.deleteDraft(draft.id, draft.writes);
    draft.stored = false;
    draft.writes = 0;
  }
  if (!draft.stored) {
    const { id, node, session, base } = draft;
    const path = savedAs(node);
    const first = startOf(view, draft, change);
    store.insertDraft({ id, tree: view.tree.id, node: node.id, path, session: store.sessionRow(session), base, first });
    draft.stored = true;
    if (first !== null && isWhole(draft, change)) return;
  } else if ('data' in change && isWhole(draft, change)) {
    store.restartDraft(draft.id, store.putContent(change.data));
    draft.writes = 0;
    draft.folded = undefined;
    return;
  }
  if ('data' in change) store.appendDraft(draft.id, draft.writes++, change.position, change.data, at);
  else store.appendDraft(draft.id, draft.writes++, change.length, null, at);
}

/** A change that leaves nothing of what was there before. */
function isWhole(draft: Draft, change: Change): boolean {
  return 'data' in change ? change.position === 0 && change.data.length >= draft.size : change.length === 0;
}

/** The content that a draft's rows start from when that is not its base. */
function startOf(view: View, draft: Draft, change: Change): number | null {
  const { store } = view.tree.services;
  if ('data' in change && isWhole(draft, change)) return store.putContent(change.data);
  const bytes = isWhole(draft, change) ? EMPTY : draft.bytes;
  if (bytes.equals(contentOf(view, draft.base))) return null;
  return store.putContent(bytes);
}

/** Writes through a handle; `append` puts the bytes at the end, wherever the kernel thinks that is. */
export function writeThrough(
  view: View,
  handle: WriteHandle,
  pid: number,
  offset: number,
  data: Buffer,
  append: boolean,
): number {
  const { draft } = handle;
  const end = draft.dirty ? draft.size : contentOf(view, handle.snapshot).length;
  const code = changeDraft(view, draft, handle.snapshot, { position: append ? end : offset, data }, pid);
  if (code === 0) noteWriter(view, handle, pid);
  return code;
}

/** Notes that a process wrote through a handle: its close will save. */
export function noteWriter(view: View, handle: WriteHandle, pid: number): void {
  if (handle.opener === undefined && handle.writers.has(pid)) return;
  handle.writers.add(pid);
  handle.opener = undefined;
  view.handles.changed(handle);
}
