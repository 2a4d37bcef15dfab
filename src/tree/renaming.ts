import { constants } from 'node:os';
import { DEPTH_MAX } from '../ports/limits.js';
import type { CameTo, NodeRow } from '../ports/store.js';
import { storeDecision } from './merging.js';
import { afterTold, type Met, type Move, meet, relink, timeAfter } from './moving.js';
import { find } from './naming.js';
import { type DirectoryNode, depthOf, type FileNode, pathOf, type TreeNode } from './node.js';
import { renameAcrossLocal } from './renaming-local.js';
import { noteAnswer, saveDraft, setHead, type Told } from './saving.js';
import type { Caller, View } from './view.js';

const { errno } = constants;
const RENAME_NOREPLACE = 1;
export const RENAME_EXCHANGE = 2;

/** `renameat2(2)`. Renaming over a file saves the source's content as the target's new head (spec §4.6). */
export function rename(
  view: View,
  caller: Caller,
  parentId: number,
  name: string | null,
  newParentId: number,
  newName: string | null,
  flags: number,
): Told | number {
  if ((flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE)) !== 0 || flags === (RENAME_NOREPLACE | RENAME_EXCHANGE))
    return errno.EINVAL;
  const source = find(view, parentId, name);
  if (typeof source === 'number') return source;
  const to = view.directory(newParentId);
  if (typeof to === 'number') return to;
  const fault = view.nameErrno(to, newName);
  if (fault !== 0 || newName === null) return fault;
  const target = view.child(to, newName);
  const move: Move = {
    node: source.node,
    from: source.parent,
    to,
    name: newName,
    target,
    ...view.caller(caller),
  };
  if (target === source.node) return flags === RENAME_NOREPLACE ? errno.EEXIST : undefined;
  if (flags === RENAME_EXCHANGE) return target ? exchange(view, move, target) : errno.ENOENT;
  if (target && flags === RENAME_NOREPLACE) return errno.EEXIST;
  const code = refusal(view, move);
  if (code !== 0) return code;
  const toLocal = view.isLocalName(to, newName);
  if (move.node.isLocal || toLocal) {
    if (move.node.isLocal && toLocal) return moveLocal(view, move);
    return move.node.kind === 'directory' ? errno.EXDEV : renameAcrossLocal(view, { ...move, node: move.node });
  }
  return move.node.kind === 'directory' ? moveDirectory(view, move, move.node) : moveFile(view, move, move.node);
}

function refusal(view: View, { node, to, target }: Move): number {
  if (isWithin(to, node)) return errno.EINVAL;
  if (target) {
    if (node.kind === 'file' && target.kind === 'directory') return errno.EISDIR;
    if (node.kind === 'directory' && target.kind === 'file') return errno.ENOTDIR;
    if (target.kind === 'directory' && !view.isEmpty(target)) return errno.ENOTEMPTY;
  }
  return depthOf(to) + 1 + heightOf(view, node) > DEPTH_MAX ? errno.ENAMETOOLONG : 0;
}

function isWithin(directory: DirectoryNode, node: TreeNode): boolean {
  for (let at: DirectoryNode | null = directory; at; at = at.parent) if (at === node) return true;
  return false;
}

/** Levels below a node. */
function heightOf(view: View, node: TreeNode): number {
  if (node.kind === 'file') return 0;
  return view.list(node).reduce((height, child) => Math.max(height, 1 + heightOf(view, child)), 0);
}

function moveLocal(view: View, { node, from, to, name, target }: Move): Told {
  const { store, clock } = view.tree.services;
  const now = clock();
  store.write(() => {
    if (target) store.moveNode({ ...target.row(), parent: null, name: null });
    store.moveNode({ ...node.row(), parent: to.id, name, ctime: now });
  });
  if (target) view.detach(target, null);
  relink(view, node, from, to, name, now);
  return undefined;
}

function moveFile(view: View, move: Move, node: FileNode): Told {
  const { tree } = view;
  const { store, clock, knowledge } = tree.services;
  const { from, to, name, session, pid } = move;
  const target = move.target?.kind === 'file' ? move.target : undefined;
  const draft = node.drafts?.get(session.key);
  // Putting a file into place says that it is whole: what its session wrote is saved now, not at its close.
  const saved = draft?.dirty ? store.requests.apart(() => saveDraft(view, draft, pid)) : undefined;
  const oldPath = pathOf(node);
  const oldName = node.name;
  const newPath = pathOf(to) === '' ? name : `${pathOf(to)}/${name}`;
  const now = clock();
  const { content: written } = node;
  const head =
    target && written !== null
      ? afterTold(saved, () => meet(view, target, node, newPath, move, () => store.content(written)))
      : undefined;
  const before = target?.content ?? null;
  const isHead = head?.bytes && before !== null ? head.bytes.equals(store.content(before)) : before === written;
  const changed = target !== undefined && !isHead;
  const mtime = changed ? timeAfter(node, target, now, head?.bytes !== undefined) : timeKept(node, target, head);
  const content = store.write(() => {
    const sessionRow = store.sessionRow(session);
    const id = head?.bytes ? store.putContent(head.bytes) : node.content;
    const row: NodeRow = {
      ...node.row(),
      ...{ parent: to.id, name, content: id, size: head?.bytes?.length ?? node.size, mtime, ctime: now },
      shown: Math.max(node.shown, target?.shown ?? 0, mtime),
    };
    if (target) {
      store.moveNode({ ...target.row(), parent: null, name: null });
      store.recordChange(tree.id, target.id);
      if (store.historyIsOwn(tree.id, oldPath, sessionRow)) store.dropHistory(tree.id, oldPath);
      else if (node.content !== null)
        store.addVersion({ tree: tree.id, path: oldPath, content: node.content, kind: 'removed', session: sessionRow });
    } else store.moveHistory(tree.id, oldPath, newPath);
    store.moveNode(row);
    if (changed && head && written !== null)
      storeDecision(view, 'recordHead', head.decision, { row, path: newPath, before, session: sessionRow, written });
    else store.recordChange(tree.id, node.id);
    const made = changed ? { head: head?.bytes ? ('merged' as const) : ('own' as const) } : {};
    store.requests.cameTo({ node: node.id, ...cameTo(target, written), ...made });
    return id;
  });
  if (target) {
    tree.detach(target, session.key);
    target.replacedBy = node;
    target.ctime = now;
    node.shown = Math.max(node.shown, target.shown);
    tree.quota.addFile(-1, -target.size);
  }
  relink(view, node, from, to, name, now);
  if (changed || head?.bytes) setHead(view, node, content, head?.bytes?.length ?? node.size, mtime, session);
  if (!changed && target) node.savedBy = target.savedBy;
  else if (head?.bytes) node.savedBy = undefined;
  node.born = target?.born ?? now;
  for (const file of target ? [node, target] : [node]) tree.note(file);
  if (!target) knowledge.move(tree.id, oldPath, newPath);
  else if (written !== null) knowledge.wrote(session, tree.id, newPath, written, pid, now);
  knowledge.missed(session, tree.id, oldPath, now);
  const names = [
    { parent: from, name: oldName },
    { parent: to, name },
  ];
  const attributes = [from, to, node, ...(target ? [target] : [])];
  const told = noteAnswer(view, tree.announce({ attributes, names }, view), session, newPath);
  return saved && told ? Promise.all([saved, told]) : (told ?? saved);
}

function cameTo(target: TreeNode | undefined, content: number | null): CameTo {
  return { ...(target ? { target: target.id } : {}), ...(content === null ? {} : { content }) };
}

/** A text that adds nothing leaves the head its time; a file put in the place of an equal one brings its own. */
function timeKept(node: FileNode, target: FileNode | undefined, head: Met | undefined): number {
  return target && head?.bytes ? target.mtime : node.mtime;
}

function moveDirectory(view: View, { node: _, from, to, name, target }: Move, node: DirectoryNode): Told {
  const { tree } = view;
  const { store, clock, knowledge } = tree.services;
  const now = clock();
  const oldPath = pathOf(node);
  const oldName = node.name;
  const newPath = pathOf(to) === '' ? name : `${pathOf(to)}/${name}`;
  store.write(() => {
    if (target) {
      store.moveNode({ ...target.row(), parent: null, name: null });
      store.recordChange(tree.id, target.id);
    }
    store.moveNode({ ...node.row(), parent: to.id, name, ctime: now });
    store.recordChange(tree.id, node.id);
    moveHistories(view, node, oldPath, newPath);
    store.requests.cameTo({ node: node.id, ...cameTo(target, null) });
  });
  if (target) {
    view.detach(target, null);
    tree.quota.addDirectory(-1);
  }
  knowledge.move(tree.id, oldPath, newPath);
  relink(view, node, from, to, name, now);
  const names = [
    { parent: from, name: oldName },
    { parent: to, name },
  ];
  return tree.announce({ attributes: [from, to, node], names }, view);
}

/** Gives every file below a folder its history under the folder's new path. */
function moveHistories(view: View, directory: DirectoryNode, from: string, to: string): void {
  const { store } = view.tree.services;
  for (const child of directory.children.values()) {
    if (child.kind === 'directory') moveHistories(view, child, `${from}/${child.name}`, `${to}/${child.name}`);
    else store.moveHistory(view.tree.id, `${from}/${child.name}`, `${to}/${child.name}`);
  }
}

/** Swaps the histories of everything below two nodes; a file's own stays with its name. */
function exchangeHistories(view: View, [a, aPath]: [TreeNode, string], [b, bPath]: [TreeNode, string]): void {
  // No path begins with a slash.
  const aside = `/${aPath}`;
  if (a.kind === 'directory') moveHistories(view, a, aPath, aside);
  if (b.kind === 'directory') moveHistories(view, b, bPath, aPath);
  if (a.kind === 'directory') moveHistories(view, a, aside, bPath);
}

/** RENAME_EXCHANGE: two names swap what they stand for; the histories stay with the names of files, and go with folders. */
function exchange(view: View, { node, from, to, name, session, pid }: Move, target: TreeNode): Told | number {
  if (node.isLocal !== target.isLocal) return errno.EXDEV;
  if (isWithin(to, node) || isWithin(from, target)) return errno.EINVAL;
  if (depthOf(to) + 1 + heightOf(view, node) > DEPTH_MAX || depthOf(from) + 1 + heightOf(view, target) > DEPTH_MAX)
    return errno.ENAMETOOLONG;
  const { tree } = view;
  const { store, clock, knowledge } = tree.services;
  const told: Told[] = [];
  for (const it of [node, target]) {
    const draft = it.kind === 'file' && !it.isLocal ? it.drafts?.get(session.key) : undefined;
    if (draft?.dirty) told.push(store.requests.apart(() => saveDraft(view, draft, pid)));
  }
  const now = clock();
  const oldName = node.name;
  const [oldPath, newPath] = [pathOf(node), pathOf(target)];
  const times = new Map<FileNode, number>();
  if (node.kind === 'file' && target.kind === 'file')
    times.set(node, timeAfter(node, target, now)).set(target, timeAfter(target, node, now));
  const place = (it: TreeNode, parent: DirectoryNode, itsName: string, path: string): void => {
    const row = { ...it.row(), parent: parent.id, name: itsName, ctime: now };
    const mtime = it.kind === 'file' ? (times.get(it) ?? it.mtime) : it.mtime;
    store.moveNode({ ...row, mtime });
    if (it.kind === 'file' && !it.isLocal) store.recordHead(it.row(), path, 'saved', store.sessionRow(session));
    else if (!it.isLocal) store.recordChange(tree.id, it.id);
  };
  store.write(() => {
    store.moveNode({ ...target.row(), parent: null, name: null });
    place(node, to, name, newPath);
    place(target, from, oldName, oldPath);
    if (!node.isLocal) exchangeHistories(view, [node, oldPath], [target, newPath]);
    store.requests.cameTo({ node: node.id, target: target.id });
  });
  for (const [file, time] of times) file.mtime = time;
  target.lookups++;
  view.detach(target, null);
  target.lookups--;
  relink(view, node, from, to, name, now);
  view.adopt(target, from, oldName);
  if (target.kind === 'file') target.removedBy = undefined;
  tree.note(target);
  if (!node.isLocal) {
    // No path begins with a slash.
    for (const [a, b] of [
      [oldPath, '/'],
      [newPath, oldPath],
      ['/', newPath],
    ] as const)
      knowledge.move(tree.id, a, b);
  }
  const names = [
    { parent: from, name: oldName },
    { parent: to, name },
  ];
  told.push(tree.announce({ attributes: [from, to, node, target], names }, view));
  const waits = told.filter((each) => each !== undefined);
  return waits.length > 0 ? Promise.all(waits) : undefined;
}
