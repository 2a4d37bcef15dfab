import { constants } from 'node:os';
import { DirectoryNode, type FileNode, pathOf, type TreeNode } from './node.js';
import { makeFile, touch } from './opening.js';
import type { Told } from './saving.js';
import { makesAnew, unseenHead } from './unseen.js';
import type { Caller, View } from './view.js';

const { errno } = constants;
const S_IFMT = 0o170000;
const S_IFREG = 0o100000;

/** A folder and a node in it, found by the kernel's id and a name; or the errno that says why not. */
export function find(
  view: View,
  parentId: number,
  name: string | null,
): { parent: DirectoryNode; node: TreeNode } | number {
  const parent = view.directory(parentId);
  if (typeof parent === 'number') return parent;
  const node = name === null ? undefined : view.child(parent, name);
  return node ? { parent, node } : errno.ENOENT;
}

/** `mknod(2)`: only regular files; devices, sockets and FIFOs have no place in a memory folder (spec §3.6). */
export function makeNode(view: View, caller: Caller, parentId: number, name: string | null, mode: number) {
  const parent = view.directory(parentId);
  if (typeof parent === 'number') return parent;
  if ((mode & S_IFMT) !== S_IFREG && (mode & S_IFMT) !== 0) return errno.EPERM;
  const fault = view.nameErrno(parent, name);
  if (fault !== 0 || name === null) return fault;
  if (view.child(parent, name)) return errno.EEXIST;
  const made = makeFile(view, parent, name);
  if (typeof made === 'number') return made;
  const { node, told } = made;
  saveEmpty(view, caller, node);
  return told ? view.foundOnceTold(node, caller, told) : view.found(node, caller);
}

/** Saves a file that was made and never opened: it is empty. */
export function saveEmpty(view: View, caller: Caller, node: FileNode): void {
  if (node.isLocal || node.content !== null) return;
  const { store } = view.tree.services;
  node.content = store.write(() => {
    const id = store.putContent(Buffer.alloc(0));
    store.saveHead(
      { ...node.row(), content: id },
      pathOf(node),
      'saved',
      store.sessionRow(view.caller(caller).session),
    );
    return id;
  });
}

export function makeDirectory(view: View, caller: Caller, parentId: number, name: string | null) {
  const parent = view.directory(parentId);
  if (typeof parent === 'number') return parent;
  const fault = view.nameErrno(parent, name);
  if (fault !== 0 || name === null) return fault;
  if (view.child(parent, name)) return errno.EEXIST;
  const { tree } = view;
  const { store, clock } = tree.services;
  const local = view.isLocalName(parent, name);
  if (!local && !tree.quota.allowsDirectory()) return errno.ENOSPC;
  const now = clock();
  const node = store.write(() => {
    const row = {
      ...{
        id: store.newId(),
        tree: tree.id,
        mount: local ? view.mount : 0,
        parent: parent.id,
        name,
        kind: 'directory' as const,
      },
      ...{ content: null, size: 0, mtime: now, atime: now, ctime: now, shown: 0 },
    };
    if (!local && parent.children.has(name)) return undefined;
    store.insertNode(row);
    if (!local) store.recordChange(tree.id, row.id);
    store.requests.cameTo({ node: row.id });
    return new DirectoryNode(row);
  });
  if (!node) return errno.EEXIST;
  view.adopt(node, parent, name);
  touch(view.tree, parent, now);
  if (!local) tree.quota.addDirectory(1);
  const told = local ? undefined : tree.announce({ attributes: [parent], names: [{ parent, name }] }, view);
  return told ? view.foundOnceTold(node, caller, told) : view.found(node, caller);
}

/** Removes a file, unless somebody else saved a newer one than this session knew (spec §4.7). */
export function unlink(view: View, caller: Caller, parentId: number, name: string | null): Told | number {
  const found = find(view, parentId, name);
  if (typeof found === 'number') return found;
  const { node, parent } = found;
  if (node.kind === 'directory') return errno.EISDIR;
  const { tree } = view;
  const { store, knowledge, clock } = tree.services;
  const now = clock();
  if (node.isLocal) {
    store.write(() => {
      store.moveNode({ ...node.row(), parent: null, name: null });
      store.requests.cameTo({ node: node.id });
    });
    view.detach(node, null);
    touch(view.tree, parent, now);
    return undefined;
  }
  const { session } = view.caller(caller);
  const path = pathOf(node);
  const unseen = unseenHead(view, node, session, path);
  if (unseen) {
    // Changes nothing, but what the next try does: it counts once.
    store.write(() => undefined);
    // Who removes it once more means what it is now.
    const { pid } = view.caller(caller);
    if (makesAnew(view, pid)) node.hidden = { ...unseen, by: pid };
    node.refused ??= new Map();
    node.refused.set(session.key, node.content);
    tree.note(node);
    return undefined;
  }
  store.write(() => {
    store.removeHead(node.row(), path, store.sessionRow(session));
    store.requests.cameTo({ node: node.id });
  });
  tree.detach(node, session.key);
  node.ctime = now;
  knowledge.missed(session, tree.id, path, clock());
  tree.quota.addFile(-1, -node.size);
  touch(view.tree, parent, now);
  return tree.announce({ attributes: [parent, node], names: [{ parent, name: node.name }] }, view);
}

export function removeDirectory(view: View, parentId: number, name: string | null): Told | number {
  const found = find(view, parentId, name);
  if (typeof found === 'number') return found;
  const { node, parent } = found;
  if (node.kind !== 'directory') return errno.ENOTDIR;
  if (!view.isEmpty(node)) return errno.ENOTEMPTY;
  const { tree } = view;
  const { store, clock } = tree.services;
  store.write(() => {
    store.moveNode({ ...node.row(), parent: null, name: null });
    if (!node.isLocal) store.recordChange(tree.id, node.id);
  });
  view.detach(node, null);
  touch(view.tree, parent, clock());
  if (node.isLocal) return undefined;
  tree.quota.addDirectory(-1);
  return tree.announce({ attributes: [parent, node], names: [{ parent, name: node.name }] }, view);
}
