import { constants } from 'node:os';
import { DEPTH_MAX, nameFault } from '../ports/limits.js';
import type { NodeRow } from '../ports/store.js';
import type { CallingProcess } from '../session/session.js';
import { attributesOf, type EntryAnswer, entryFor, NO_ENTRY } from './attributes.js';
import { HandleTable } from './handles.js';
import type { KernelCache } from './kernel-cache.js';
import { DirectoryNode, depthOf, FileNode, pathOf, type TreeNode } from './node.js';
import { doneKey, givenKey, handleNote } from './notes.js';
import { Settling } from './settling.js';
import type { Tree } from './tree.js';

const { errno } = constants;

/** A thread that calls: the part of a request's header that the tree needs. */
export interface Caller {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
  /** The kernel's number of the request; undefined where no request is ever sent again. */
  readonly unique?: number;
  /** The request was sent before, to a process that died. */
  readonly resent?: boolean;
}

/** What a harness makes of names. Paths are relative to the tree. */
export interface NameRules {
  isLocal(path: string): boolean;
  /** The path that a temporary file is to replace. */
  temporaryFor(path: string): string | undefined;
}

/** What a kernel is to forget; each resolves when it has. */
export interface Outdating {
  readonly attributes: Promise<unknown>;
  /** The kernel takes it once no change in the names' folders is under way. */
  readonly names: Promise<unknown>;
}

/** How one mount shows a tree: memory as everybody sees it, and the local files that only this mount has. */
export class View {
  readonly tree: Tree;
  /** Row id of the mount, which local files belong to. */
  readonly mount: number;
  /** Where it is mounted. */
  readonly path: string;
  readonly kernel: KernelCache;
  readonly handles: HandleTable;
  readonly settling = new Settling();
  /** Requests that were done and wait for their answer. */
  readonly doneBefore = new Set<number>();
  /** After a takeover: what the earlier process may not have told the kernel. */
  outdated: Outdating | undefined;
  /** Whether a caller sees something else in the place of memory by now, so that nothing of it may be done here. */
  isShutOut: (caller: Caller) => boolean = () => false;
  readonly #names: NameRules;
  /** Local files and folders by id, and those of them that lie in memory's folders by the folder's id. */
  readonly #locals = new Map<number, TreeNode>();
  readonly #localChildren = new Map<number, DirectoryNode>();
  /** This kernel's share of each node's lookups, which are given back when it is gone. */
  readonly #lookups = new Map<TreeNode, number>();
  /** Nodes that the kernel may have looked up while an earlier process counted. */
  readonly #inherited = new Set<TreeNode>();

  constructor(tree: Tree, mount: number, path: string, kernel: KernelCache, names: NameRules) {
    this.tree = tree;
    this.mount = mount;
    this.path = path;
    this.kernel = kernel;
    this.#names = names;
    const { journal } = tree.services;
    this.handles = new HandleTable(
      (serial, handle, canWait) =>
        journal.note(`h/${mount}/${serial}`, handle && (() => handleNote(handle, journal)), canWait),
      (serial) => journal.note(givenKey(mount), () => serial),
    );
    for (const row of tree.services.store.loadNodes(tree.id, mount)) if (row.mount === mount) this.#load(row);
    tree.views.add(this);
  }

  /** The node that a kernel's id stands for; undefined when it is gone. The mount's root is always 1. */
  node(id: number): TreeNode | undefined {
    if (id === 1) return this.tree.root;
    return this.tree.nodes.get(id) ?? this.#locals.get(id) ?? this.tree.departed.get(id);
  }

  /** A folder by its kernel's id, or the errno that says why not. */
  directory(id: number): DirectoryNode | number {
    const node = this.node(id);
    if (!node) return errno.ESTALE;
    return node.kind === 'directory' ? node : errno.ENOTDIR;
  }

  file(id: number): FileNode | number {
    const node = this.node(id);
    if (!node) return errno.ESTALE;
    return node.kind === 'file' ? node : errno.EISDIR;
  }

  caller(caller: Caller): CallingProcess {
    return this.tree.services.sessions.find(caller.pid);
  }

  /** True when a name in a folder is, or would be, a local one. */
  isLocalName(parent: DirectoryNode, name: string): boolean {
    return parent.isLocal || this.#names.isLocal(name);
  }

  child(parent: DirectoryNode, name: string): TreeNode | undefined {
    return this.#folderFor(parent, name)?.children.get(name);
  }

  /** Where a name is kept in memory: the folder itself, or this mount's companion of it for local names. */
  #folderFor(parent: DirectoryNode, name: string): DirectoryNode | undefined {
    if (parent.isLocal || !this.#names.isLocal(name)) return parent;
    return this.#localChildren.get(parent.id);
  }

  /** Everything in a folder, by id. */
  list(parent: DirectoryNode): readonly TreeNode[] {
    const own = this.#localChildren.get(parent.id)?.sorted ?? [];
    if (own.length === 0) return parent.sorted;
    return [...parent.sorted, ...own].sort((a, b) => a.id - b.id);
  }

  /** How many folders lie in a folder. */
  foldersIn(parent: DirectoryNode): number {
    return parent.folders + (this.#localChildren.get(parent.id)?.folders ?? 0);
  }

  isEmpty(parent: DirectoryNode): boolean {
    return parent.children.size === 0 && (this.#localChildren.get(parent.id)?.children.size ?? 0) === 0;
  }

  /** The errno that a new name in a folder deserves, 0 when it is good. */
  nameErrno(parent: DirectoryNode, name: string | null): number {
    const fault = nameFault(name);
    if (fault === 'invalid') return errno.EINVAL;
    if (fault === 'too long') return errno.ENAMETOOLONG;
    if (!parent.parent && parent !== this.tree.root && !parent.isLocal) return errno.ENOENT;
    return depthOf(parent) + 1 > DEPTH_MAX ? errno.ENAMETOOLONG : 0;
  }

  /** Puts a node into a folder in memory, as memory or as local. */
  adopt(node: TreeNode, parent: DirectoryNode, name: string): void {
    if (!node.isLocal) {
      this.#locals.delete(node.id);
      this.tree.adopt(node, parent, name);
      return;
    }
    this.tree.nodes.delete(node.id);
    this.#locals.set(node.id, node);
    this.#companion(parent).add(name, node);
    node.parent = parent;
  }

  /** Takes a node out of its folder in memory. */
  detach(node: TreeNode, removedBy: string | null): void {
    const { parent } = node;
    if (!node.isLocal || !parent) {
      this.tree.detach(node, removedBy);
      return;
    }
    this.#companion(parent).remove(node);
    node.parent = null;
    if (node.lookups > 0) return;
    this.#locals.delete(node.id);
    this.tree.forget(node);
  }

  /** Takes in a local file that lies in no folder, for the kernel that still holds it. */
  hold(node: TreeNode): void {
    this.#locals.set(node.id, node);
  }

  /** The local files and folders of this mount. */
  get locals(): Iterable<TreeNode> {
    return this.#locals.values();
  }

  /** Counts, for each of some nodes, what the kernel looked up when an earlier process served it. */
  inherit(nodes: Iterable<TreeNode>): void {
    for (const node of nodes) {
      if (this.#inherited.has(node)) continue;
      this.#inherited.add(node);
      node.lookups++;
    }
  }

  #companion(parent: DirectoryNode): DirectoryNode {
    if (parent.isLocal) return parent;
    let companion = this.#localChildren.get(parent.id);
    if (!companion) {
      companion = new DirectoryNode(parent.row());
      this.#localChildren.set(parent.id, companion);
    }
    return companion;
  }

  #load(row: NodeRow): void {
    const parent = row.parent === null ? undefined : this.node(row.parent);
    if (parent?.kind !== 'directory' || row.name === null) return;
    this.adopt(row.kind === 'directory' ? new DirectoryNode(row) : new FileNode(row), parent, row.name);
  }

  /** Counts a kernel's lookup, and answers it. */
  found(node: TreeNode, caller: Caller): EntryAnswer {
    this.count(node);
    return entryFor(this, node, caller);
  }

  /** The path that a local file was to be saved as; undefined when its name does not say. */
  temporaryFor(node: FileNode): string | undefined {
    const target = node.parent ? this.#names.temporaryFor(pathOf(node)) : undefined;
    return target === undefined || this.#names.isLocal(target) ? undefined : target;
  }

  /** Answers for a name that is not there. Of memory the kernel asks every time: who saw it missing matters to a merge. */
  missing(parent: DirectoryNode, name: string, caller: Caller, onlyHidden: boolean): EntryAnswer {
    if (parent.isLocal || this.isLocalName(parent, name)) return NO_ENTRY;
    if (onlyHidden) return { ...NO_ENTRY, entryValid: 0 };
    const { knowledge, clock } = this.tree.services;
    const path = pathOf(parent);
    knowledge.missed(this.caller(caller).session, this.tree.id, path === '' ? name : `${path}/${name}`, clock());
    return { ...NO_ENTRY, entryValid: 0 };
  }

  /** The same for a node that was made just now, once the other kernels were told: what changed meanwhile is in the answer. */
  foundOnceTold(node: TreeNode, caller: Caller, told: Promise<unknown>): Promise<EntryAnswer> {
    const { parent, name } = node;
    // Counts at once: a node that is removed meanwhile has to stay known to whoever gets the answer.
    this.count(node);
    return told.then(() => {
      const entry = entryFor(this, node, caller);
      return node.parent === parent && node.name === name ? entry : { ...entry, entryValid: 0 };
    });
  }

  /** Counts a lookup of this kernel. */
  count(node: TreeNode): void {
    node.lookups++;
    this.#lookups.set(node, (this.#lookups.get(node) ?? 0) + 1);
  }

  attributes(node: TreeNode, caller: Caller) {
    return attributesOf(this, node, caller);
  }

  /** The kernel forgot a node `count` times; a removed one that nobody holds any more goes. */
  forget(id: number, count: number): void {
    const node = this.node(id);
    if (node) this.#giveBack(node, count);
  }

  #giveBack(node: TreeNode, count: number): void {
    const own = this.#lookups.get(node) ?? 0;
    const given = Math.min(own, count);
    if (given === own) this.#lookups.delete(node);
    else this.#lookups.set(node, own - given);
    node.lookups -= given;
    // A kernel forgets all that it has looked up at once: more than was counted here, or just that, is everything. But it
    // also gives back a single lookup that led elsewhere than the one before; then the file may be open.
    if (count >= own && this.#inherited.has(node) && !(count === 1 && this.#hasOpen(node))) {
      this.#inherited.delete(node);
      node.lookups--;
    }
    if (node.lookups > 0 || node.parent || node === this.tree.root) return;
    this.tree.nodes.delete(node.id);
    this.#locals.delete(node.id);
    this.tree.departed.delete(node.id);
    this.tree.forget(node);
  }

  /** Who opens a node has looked it up, whatever was given back of what an earlier process counted. */
  opened(node: TreeNode): void {
    if (this.settling.inherited && !this.#lookups.has(node)) this.inherit([node]);
  }

  #hasOpen(node: TreeNode): boolean {
    for (const handle of this.handles.values()) if (handle.node === node) return true;
    return false;
  }

  /** Leaves the tree: the mount is gone, and its kernel with all that it had looked up. */
  close(): void {
    this.tree.views.delete(this);
    const { journal } = this.tree.services;
    journal.note(givenKey(this.mount), undefined);
    for (const unique of this.doneBefore) journal.note(doneKey(this.mount, unique), undefined);
    for (const node of [...this.#inherited]) this.#giveBack(node, Number.POSITIVE_INFINITY);
    for (const [node, count] of [...this.#lookups]) this.#giveBack(node, count);
  }
}
