import { constants } from 'node:os';
import { storableTime } from '../ports/clock.js';
import { handleFor } from './finding-handles.js';
import type { Fh, WriteHandle } from './handles.js';
import { truncateLocal } from './local-files.js';
import type { FileNode, TreeNode } from './node.js';
import { noteDraft } from './notes.js';
import { saveDraft } from './saving.js';
import type { Caller, View } from './view.js';
import { changeDraft, draftOf, dropDraft } from './writing.js';

const { errno } = constants;

/** What `chmod`, `chown`, `truncate` and `utimensat` ask for. Times are µs since the epoch. */
export interface AttributeChange {
  readonly size?: number;
  readonly atime?: number | 'now';
  readonly mtime?: number | 'now';
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly fh?: Fh;
}

/** Answers once the other kernels were told. */
async function changeAttributesLater(told: Promise<unknown>, answer: () => ReturnType<View['attributes']>) {
  await told;
  return answer();
}

/**
 * Changes attributes and answers the new ones. Modes are accepted and have no effect (spec §3.4); owners cannot
 * be changed.
 */
export function changeAttributes(view: View, caller: Caller, node: TreeNode, change: AttributeChange) {
  if (change.uid !== undefined && change.uid !== caller.uid) return errno.EPERM;
  if (change.gid !== undefined && change.gid !== caller.gid) return errno.EPERM;
  const answer = () => view.attributes(node, caller);
  let told: Promise<unknown> | undefined;
  if (change.size !== undefined) {
    if (node.kind === 'directory') return errno.EISDIR;
    const draft = change.fh && handleFor(view, caller, node.id, change.fh)?.kind === 'write';
    const result =
      node.isLocal && !draft
        ? truncateLocal(view, node, change.size)
        : truncate(view, caller, node, change.size, change.fh);
    if (typeof result === 'number') {
      if (result !== 0) return result;
    } else told = result;
  }
  // A truncation has given the file its time already; the kernel's "now" beside it says nothing more.
  const times = change.size !== undefined && change.mtime === 'now' ? { ...change, mtime: undefined } : change;
  const owned = change.mode !== undefined || change.uid !== undefined || change.gid !== undefined;
  if (times.atime !== undefined || times.mtime !== undefined || owned) {
    told = both(told, setTimes(view, caller, node, times));
  }
  return told ? changeAttributesLater(told, answer) : answer();
}

function both(a: Promise<unknown> | undefined, b: Promise<unknown> | undefined): Promise<unknown> | undefined {
  return a && b ? Promise.all([a, b]) : (a ?? b);
}

/** Truncates the session's draft; by path, with nothing open for writing, the truncation is saved at once. */
function truncate(
  view: View,
  caller: Caller,
  node: FileNode,
  size: number,
  fh: Fh | undefined,
): Promise<unknown> | number {
  const { pid, session } = view.caller(caller);
  const found = fh ? handleFor(view, caller, node.id, fh) : undefined;
  const handle: WriteHandle | undefined = found?.kind === 'write' ? found : undefined;
  const draft = handle?.draft ?? draftOf(view, node, session);
  const snapshot = handle ? handle.snapshot : node.content;
  const length = draft.dirty ? draft.size : node.size;
  // A process that died may have cut the draft already; who did, and what was known then, is still to be noted.
  if (handle || length !== size || (caller.resent && draft.dirty)) {
    // A length can be set twice.
    const { requests } = view.tree.services.store;
    const code = requests.apart(() => changeDraft(view, draft, snapshot, { length: size }, pid));
    if (code !== 0) {
      dropDraft(draft);
      return code;
    }
  }
  if (handle && !handle.writers.has(pid)) {
    handle.writers.add(pid);
    view.handles.changed(handle);
  }
  const told = draft.handles === 0 && draft.dirty ? saveDraft(view, draft, pid) : undefined;
  dropDraft(draft);
  return told ?? 0;
}

type Times = { readonly atime?: number | 'now' | undefined; readonly mtime?: number | 'now' | undefined };

function setTimes(view: View, caller: Caller, node: TreeNode, change: Times): Promise<unknown> | undefined {
  const { store, clock } = view.tree.services;
  const now = clock();
  const at = (time: number | 'now' | undefined, otherwise: number) =>
    time === 'now' ? now : storableTime(time ?? otherwise);
  const draft = node.kind === 'file' && node.drafts ? node.drafts.get(view.caller(caller).session.key) : undefined;
  const atime = at(change.atime, node.atime);
  if (draft?.dirty) {
    node.atime = atime;
    node.ctime = now;
    if (change.mtime === undefined) return undefined;
    draft.mtime = at(change.mtime, draft.mtime);
    draft.timeSet = true;
    noteDraft(view, draft);
    return undefined;
  }
  const mtime = at(change.mtime, node.mtime);
  store.write(() => {
    store.updateNode({ ...node.row(), atime, mtime, ctime: now });
    if (!node.isLocal) store.recordChange(view.tree.id, node.id);
  });
  node.atime = atime;
  node.mtime = mtime;
  node.ctime = now;
  return node.isLocal ? undefined : view.tree.announce({ attributes: [node], names: [] }, view);
}
