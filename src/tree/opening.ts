import { constants } from 'node:os';
import { encodeFh, type Handle, type LocalHandle, readHandle, type WriteHandle, writeHandle } from './handles.js';
import { localBytes, openLocal } from './local-files.js';
import { FileNode, pathOf } from './node.js';
import { noteDraft } from './notes.js';
import { DIRECT_IO, KEEP_CACHE, NO_FLUSH, O_ACCMODE, O_EXCL, O_TRUNC } from './open-flags.js';
import { endDraft, keepAside, saveDraft, type Told } from './saving.js';
import type { Tree } from './tree.js';
import { isHidden } from './unseen.js';
import type { Caller, View } from './view.js';
import { changeDraft, draftOf, dropDraft, noteChange, noteWriter } from './writing.js';

const { errno } = constants;

/** An opened file, for the kernel. */
export interface Opened {
  readonly fhHigh: number;
  readonly fhLow: number;
  readonly openFlags: number;
}

function opened(view: View, caller: Caller, handle: Handle, id: number, openFlags: number): Opened {
  handle.opening = caller.unique ?? 0;
  const { high, low } = encodeFh(handle.kind, view.handles.add(handle), id);
  return { fhHigh: high, fhLow: low, openFlags };
}

/** What a request opened that is sent again; undefined when it did not come so far. */
export function reopened(view: View, caller: Caller): Opened | undefined {
  const handle = caller.resent && caller.unique ? view.handles.openedBy(caller.unique) : undefined;
  if (!handle) return undefined;
  const { kind, serial } = handle;
  const id = kind === 'local' ? handle.node.id : kind === 'write' ? handle.draft.id : (handle.content ?? 0);
  const { high, low } = encodeFh(kind, serial, id);
  const openFlags = kind === 'local' ? KEEP_CACHE : kind === 'read' ? DIRECT_IO | NO_FLUSH : DIRECT_IO;
  return { fhHigh: high, fhLow: low, openFlags };
}

/**
 * Opens a file. For reading it shows the newest head, and keeps showing that until it is closed; for writing it
 * leads to the session's draft (spec §4.1–4.3).
 */
export function open(view: View, caller: Caller, node: FileNode, flags: number, isRepeated = false): Opened | number {
  if (node.isLocal) return openLocal(view, caller, node, flags);
  const { pid, session } = view.caller(caller);
  const mode = flags & O_ACCMODE;
  if (mode !== 0 || (flags & O_TRUNC) !== 0) {
    return openForWriting(view, caller, node, flags, isRepeated);
  }
  const draft = node.drafts?.get(session.key);
  if (draft?.dirty) {
    draft.handles++;
    return opened(view, caller, writeHandle(draft, node.content), draft.id, DIRECT_IO | NO_FLUSH);
  }
  const handle = readHandle(node, session, pid, node.content);
  node.readers.add(handle);
  return opened(view, caller, handle, node.content ?? 0, DIRECT_IO | NO_FLUSH);
}

function openForWriting(
  view: View,
  caller: Caller,
  node: FileNode,
  flags: number,
  isRepeated: boolean,
): Opened | number {
  const { pid, session } = view.caller(caller);
  const draft = draftOf(view, node, session);
  const handle = writeHandle(draft, node.content);
  if ((flags & O_TRUNC) !== 0 && (draft.dirty ? draft.size > 0 : node.content !== null)) {
    const code = changeDraft(view, draft, node.content, { length: 0 }, pid);
    if (code !== 0) {
      dropDraft(draft);
      return code;
    }
    handle.opener = pid;
  } else if ((flags & O_TRUNC) !== 0 && isRepeated) {
    handle.opener = pid;
    noteChange(view, draft, pid, true);
  }
  draft.handles++;
  return opened(view, caller, handle, draft.id, DIRECT_IO);
}

/** Makes a file and opens it; the name is there for everybody at once, the content at the first close. */
export function create(
  view: View,
  caller: Caller,
  parentId: number,
  name: string | null,
  flags: number,
  isRepeated = false,
) {
  const parent = view.directory(parentId);
  if (typeof parent === 'number') return parent;
  const fault = view.nameErrno(parent, name);
  if (fault !== 0 || name === null) return fault;
  const there = view.child(parent, name);
  if (there) {
    const gone = there.kind === 'file' && isHidden(view, there, caller);
    if ((flags & O_EXCL) !== 0 && !gone) return errno.EEXIST;
    if (there.kind === 'directory') return errno.EISDIR;
    const open_ = open(view, caller, there, gone ? flags | O_TRUNC : flags, isRepeated);
    return typeof open_ === 'number' ? open_ : { entry: view.found(there, caller), open: open_ };
  }
  const made = makeFile(view, parent, name);
  if (typeof made === 'number') return made;
  const { node, told } = made;
  const result = openNew(view, caller, node, flags);
  if (typeof result === 'number') return result;
  if (!told) return { entry: view.found(node, caller), open: result };
  return view.foundOnceTold(node, caller, told).then((entry) => ({ entry, open: result }));
}

/** Opens a file that was made just now. */
export function openNew(view: View, caller: Caller, node: FileNode, flags: number): Opened | number {
  if (node.isLocal) return openLocal(view, caller, node, flags);
  const { pid, session } = view.caller(caller);
  const draft = draftOf(view, node, session);
  draft.begin(null, Buffer.alloc(0), view.tree.services.clock());
  noteDraft(view, draft);
  draft.handles++;
  return opened(view, caller, writeHandle(draft, null, pid), draft.id, DIRECT_IO);
}

/** Puts a new, empty file into a folder. */
export function makeFile(
  view: View,
  parent: NonNullable<FileNode['parent']>,
  name: string,
): { node: FileNode; told: Told } | number {
  const { tree } = view;
  const { store, clock } = tree.services;
  const local = view.isLocalName(parent, name);
  if (!local && !tree.quota.allowsFile()) {
    tree.quota.refused = pathOf(parent) === '' ? name : `${pathOf(parent)}/${name}`;
    return errno.ENOSPC;
  }
  const now = clock();
  const node = store.write(() => {
    const row = {
      ...{
        id: store.newId(),
        tree: tree.id,
        mount: local ? view.mount : 0,
        parent: parent.id,
        name,
        kind: 'file' as const,
      },
      ...{ content: null, size: 0, mtime: now, atime: now, ctime: now, shown: 0 },
    };
    if (!local && parent.children.has(name)) return undefined;
    store.insertNode(row);
    if (!local) store.recordChange(tree.id, row.id);
    store.requests.cameTo({ node: row.id });
    return new FileNode(row);
  });
  if (!node) return errno.EEXIST;
  node.made = now;
  tree.note(node);
  view.adopt(node, parent, name);
  touch(tree, parent, now);
  if (local) return { node, told: undefined };
  tree.quota.addFile(1, 0);
  return { node, told: tree.announce({ attributes: [parent], names: [{ parent, name }] }, view) };
}

/** Notes that a folder's names changed; its times go to the store in the background. */
export function touch(tree: Tree, directory: NonNullable<FileNode['parent']>, now: number): void {
  directory.mtime = Math.max(now, directory.mtime + 1);
  directory.ctime = directory.mtime;
  directory.timesChanged = true;
  tree.note(directory);
}

/**
 * A process closed a copy of a descriptor. Saves when that process wrote through the handle: others only inherited
 * it (spec §4.5). A process that a signal ends has not saved, and what it wrote is kept aside (spec §4.8).
 */
export function flush(view: View, caller: Caller, handle: Handle | undefined): Told {
  if (handle?.kind === 'local') return handle.wrote ? flushTemporary(view, caller, handle) : undefined;
  if (handle?.kind !== 'write') return undefined;
  if (!handle.closed) {
    handle.closed = true;
    view.handles.changed(handle);
  }
  if (!handle.draft.dirty) return undefined;
  const { pid } = view.caller(caller);
  const { draft, node } = handle;
  if (handle.opener === pid && node.parent && !view.tree.services.processes.holds(pid, `${view.path}/${pathOf(node)}`))
    noteWriter(view, handle, pid);
  if (!handle.writers.has(pid)) return undefined;
  if (!draft.node.parent && draft.node.removedBy === draft.session.key) return undefined;
  const end = view.tree.services.processes.end(caller.pid);
  if (!end?.exiting || end.signal === 0 || !draft.stored) return saveDraft(view, draft, pid);
  handle.writers.delete(pid);
  view.handles.changed(handle);
  for (const { handles } of view.tree.views) {
    for (const other of handles.values())
      if (other.kind === 'write' && other.draft === draft && other.writers.size > 0) return undefined;
  }
  return keepAside(view, draft, 'interrupted');
}

/**
 * A temporary file of a process that a signal ends will not be put in the place of what it was for: what it holds is
 * kept as a version of that (spec §4.8). The file itself stays, as on any file system.
 */
function flushTemporary(view: View, caller: Caller, handle: LocalHandle): undefined {
  const { node, session, pid } = handle;
  if (view.caller(caller).pid !== pid) return;
  const end = view.tree.services.processes.end(caller.pid);
  if (!end?.exiting || end.signal === 0) return;
  const path = view.temporaryFor(node);
  if (path === undefined || node.size > view.tree.quota.limits.fileBytes) return;
  const { store } = view.tree.services;
  store.write(() => {
    const content = node.content ?? store.putContent(localBytes(view, node));
    const version = { tree: view.tree.id, path, content, session: store.sessionRow(session) };
    store.addVersion({ ...version, kind: 'interrupted' });
  });
  handle.wrote = false;
  view.handles.changed(handle);
}

/** The last copy of a descriptor is closed: what is still unsaved is saved now. */
export function release(view: View, handle: Handle | undefined): Told {
  if (handle?.kind === 'read') handle.node.readers.delete(handle);
  if (handle?.kind !== 'write') return undefined;
  const { draft } = handle;
  let told: Told;
  // An open that a signal ended in the kernel, after it had truncated: nobody got a descriptor, and none was closed.
  const abandoned = !handle.closed && handle.opener !== undefined && draft.base !== null && draft.size === 0;
  if (draft.handles === 1 && draft.dirty && abandoned) discard(view, draft);
  else if (draft.handles === 1 && draft.dirty) {
    told = saveDraft(view, draft, 0);
    if (draft.dirty) discard(view, draft);
  }
  draft.handles--;
  dropDraft(draft);
  return told;
}

/** Forgets a draft of a file that its own session removed, as POSIX says of an unlinked file. */
function discard(view: View, draft: WriteHandle['draft']): void {
  const { store } = view.tree.services;
  if (draft.stored) store.write(() => store.deleteDraft(draft.id, draft.writes));
  endDraft(view, draft);
}
