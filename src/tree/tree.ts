import type { MergeOptions } from '../merge/merge-sides.js';
import type { Clock } from '../ports/clock.js';
import type { Journal } from '../ports/journal.js';
import type { Processes } from '../ports/process.js';
import type { NodeRow, TreeStore } from '../ports/store.js';
import type { Knowledge } from '../session/knowledge.js';
import type { SessionFinder } from '../session/session-finder.js';
import type { Merger } from './merging.js';
import { DirectoryNode, FileNode, pathOf, type TreeNode } from './node.js';
import { directoryNote, fileNote, nodeKey } from './notes.js';
import type { Quota } from './quota.js';
import type { Unseen } from './unseen.js';
import type { View } from './view.js';

/** What every tree of a daemon shares. */
export interface TreeServices {
  readonly store: TreeStore;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly sessions: SessionFinder;
  readonly knowledge: Knowledge;
  readonly merger: Merger;
  /** Name of this machine, for the comments that a merge leaves. */
  readonly host: string;
  /** Has the other processes that serve this store tell their kernels of what was committed; undefined when there are none. */
  tellPeers(): Promise<void> | undefined;
  /** True when other processes serve this store too. */
  hasPeers(): boolean;
}

/** What kernels have to be told of a change they did not make themselves. */
export interface Announcement {
  readonly attributes: readonly TreeNode[];
  readonly names: Names;
}

/** Names in folders. */
export type Names = readonly { readonly parent: DirectoryNode; readonly name: string }[];

/** The memory of one project and harness, shared by every mount of it. */
export class Tree {
  readonly id: number;
  readonly services: TreeServices;
  readonly quota: Quota;
  readonly root: DirectoryNode;
  readonly nodes = new Map<number, TreeNode>();
  /** Files that one mount put aside under a local name, which other mounts' programs may still have open. */
  readonly departed = new Map<number, TreeNode>();
  readonly views = new Set<View>();
  /** What sessions put aside without knowing it, by the path that it had. */
  readonly setAside = new Map<string, Unseen>();
  /** Removed nodes that no kernel knows any more; their rows go with the next background work. */
  readonly forgotten: { readonly id: number; readonly local: boolean }[] = [];
  /** Frontmatter keys that the harness itself keeps. */
  readonly #maintained: readonly string[];
  #announced: Promise<unknown> = Promise.resolve();

  constructor(id: number, services: TreeServices, quota: Quota, maintained: readonly string[] = []) {
    this.#maintained = maintained;
    this.id = id;
    this.services = services;
    this.quota = quota;
    const [top, ...rows] = services.store.loadNodes(id, 0);
    if (top?.kind !== 'directory') throw new Error(`tree ${id} has no root`);
    this.root = new DirectoryNode(top);
    this.nodes.set(this.root.id, this.root);
    for (const row of rows) this.#link(row);
  }

  /** Resolves when every kernel was told of every change followed so far. */
  get settled(): Promise<unknown> {
    return this.#announced;
  }

  /** Puts a node that a row describes into the tree in memory. */
  adopt(node: TreeNode, parent: DirectoryNode, name: string): void {
    this.nodes.set(node.id, node);
    parent.add(name, node);
  }

  /** Takes a node out of its folder in memory; it stays known by its id while a kernel holds it. */
  detach(node: TreeNode, removedBy: string | null): void {
    if (node.kind === 'file') {
      node.removedBy = removedBy;
      node.removedFrom = pathOf(node);
      this.note(node);
    }
    node.parent?.remove(node);
    if (node.lookups > 0) return;
    this.nodes.delete(node.id);
    this.forget(node);
  }

  /** No kernel knows a removed node any more: its row goes with the next background work. */
  forget(node: TreeNode): void {
    const { journal } = this.services;
    this.forgotten.push({ id: node.id, local: node.isLocal });
    journal.note(nodeKey(node), undefined);
    journal.note(`g/${node.id}`, () => 1);
  }

  /** Notes for a process that takes over what a node is beside its row. */
  note(node: TreeNode): void {
    this.services.journal.note(nodeKey(node), () => (node.kind === 'file' ? fileNote(node) : directoryNote(node)));
  }

  /** The folder at a path, brought back when it was removed meanwhile; for use in a transaction. */
  ensureDirectory(path: string): DirectoryNode {
    let at = this.root;
    for (const name of path === '' ? [] : path.split('/')) {
      const next = at.children.get(name);
      if (next?.kind === 'file') throw Object.assign(new Error('a file is in the way'), { code: 'ENOTDIR' });
      at = next ?? this.#addDirectory(at, name);
    }
    return at;
  }

  /** The node at a path; undefined when there is none. */
  find(path: string): TreeNode | undefined {
    let at: TreeNode = this.root;
    for (const name of path.split('/')) {
      const next: TreeNode | undefined = at.kind === 'directory' ? at.children.get(name) : undefined;
      if (!next) return undefined;
      at = next;
    }
    return at;
  }

  #addDirectory(parent: DirectoryNode, name: string): DirectoryNode {
    const { store, clock } = this.services;
    const now = clock();
    const row: NodeRow = {
      ...{ id: store.newId(), tree: this.id, mount: 0, parent: parent.id, name, kind: 'directory' },
      ...{ content: null, size: 0, mtime: now, atime: now, ctime: now, shown: 0 },
    };
    store.insertNode(row);
    store.recordChange(this.id, row.id);
    const node = new DirectoryNode(row);
    this.adopt(node, parent, name);
    this.quota.addDirectory(1);
    return node;
  }

  /** What a merge of two sessions' texts of a file has to know besides them: the text that is saved now is the newer one. */
  mergeOptions(path: string): MergeOptions {
    const date = new Date(this.services.clock() / 1000).toISOString().slice(0, 10);
    return { path, maintained: this.#maintained, newer: 'other', from: { host: this.services.host, date } };
  }

  /** True when a kernel can show what another one changes. */
  get isShared(): boolean {
    return this.views.size > 1 || this.services.hasPeers();
  }

  /** Has the other kernels of this process ask again for a node's attributes, without waiting for them. */
  refresh(node: TreeNode, origin: View): void {
    if (this.views.size > 1) this.#tellKernels({ attributes: [node], names: [] }, origin);
  }

  /** Tells every kernel but the one of `origin` of a change made here; undefined when there is nobody to tell. */
  announce(news: Announcement, origin: View | null): Promise<unknown> | undefined {
    const told = this.#tellKernels(news, origin);
    const peers = this.services.tellPeers();
    if (peers) told.push(peers);
    return told.length === 0 ? undefined : Promise.all(told);
  }

  #tellKernels(news: Announcement, origin: View | null): Promise<void>[] {
    const told: Promise<void>[] = [];
    for (const view of this.views) if (view !== origin) told.push(view.kernel.forget(news));
    return told;
  }

  /** True while there is something for `tidy` to do. */
  get isUntidy(): boolean {
    return this.forgotten.length > 0 || this.#changedDirectories().length > 0;
  }

  /** Stores the times of folders whose names changed, and drops rows that nobody needs; for use in a transaction. */
  tidy(): void {
    const { store, journal } = this.services;
    for (const { id, local } of this.forgotten.splice(0)) {
      if (store.deleteOrphan(id) && local) store.deleteLocal(id);
      journal.note(`g/${id}`, undefined);
    }
    for (const directory of this.#changedDirectories()) {
      this.services.store.updateNode(directory.row());
      directory.timesChanged = false;
      journal.note(nodeKey(directory), undefined);
    }
  }

  #changedDirectories(): DirectoryNode[] {
    const changed: DirectoryNode[] = this.root.timesChanged ? [this.root] : [];
    for (const node of this.nodes.values()) {
      if (node.kind === 'directory' && node.timesChanged && node.parent) changed.push(node);
    }
    return changed;
  }

  /** Takes over what other processes changed, and tells the kernels (`settled`). */
  follow(ids: Iterable<number>): void {
    const attributes: TreeNode[] = [];
    const names: { parent: DirectoryNode; name: string }[] = [];
    for (const id of new Set(ids)) {
      const node = this.nodes.get(id);
      const row = this.services.store.loadNode(id);
      // What became a local file of somebody else's mount is gone from memory.
      const linked = row !== undefined && row.parent !== null && row.mount === 0;
      if (node?.parent) {
        names.push({ parent: node.parent, name: node.name });
        attributes.push(node.parent, node);
        if (!linked) this.detach(node, null);
      }
      if (!row || !linked) continue;
      const unsaved = node?.kind !== 'file' || node.content === null;
      const now = node ? this.#update(node, row) : this.#link(row);
      if (unsaved && now?.kind === 'file') now.born = this.services.clock();
      if (!now?.parent) continue;
      names.push({ parent: now.parent, name: now.name });
      attributes.push(now.parent, now);
    }
    if (names.length === 0) return;
    this.quota.refresh();
    const told = this.#tellKernels({ attributes: [...new Set(attributes)], names }, null);
    if (told.length > 0) this.#announced = Promise.all([this.#announced, ...told]);
  }

  #link(row: NodeRow): TreeNode | undefined {
    if (row.parent === null || row.name === null || row.mount !== 0) return undefined;
    const parent = this.#directory(row.parent);
    if (!parent) return undefined;
    const node = row.kind === 'directory' ? new DirectoryNode(row) : new FileNode(row);
    this.adopt(node, parent, row.name);
    return node;
  }

  /** A folder by id, loaded when this process has not heard of it yet. */
  #directory(id: number): DirectoryNode | undefined {
    const known = this.nodes.get(id);
    if (known) return known.kind === 'directory' ? known : undefined;
    const row = this.services.store.loadNode(id);
    const loaded = row ? this.#link(row) : undefined;
    return loaded?.kind === 'directory' ? loaded : undefined;
  }

  #update(node: TreeNode, row: NodeRow): TreeNode {
    const parent = row.parent === null ? undefined : this.#directory(row.parent);
    if (parent && row.name !== null && (node.parent !== parent || node.name !== row.name)) {
      const before = node.parent ? pathOf(node) : undefined;
      node.parent?.remove(node);
      parent.add(row.name, node);
      if (before !== undefined) this.services.knowledge.move(this.id, before, pathOf(node));
    }
    node.mtime = row.mtime;
    node.atime = row.atime;
    node.ctime = row.ctime;
    node.mount = row.mount;
    if (node.kind === 'file') {
      if (node.content !== row.content && node.savedBy !== undefined) {
        node.savedBy = undefined;
        this.note(node);
      }
      node.content = row.content;
      node.size = row.size;
      // Whoever served it may have told its time to somebody.
      node.shown = Math.max(node.shown, row.shown, row.mtime);
      node.removedBy = undefined;
    }
    return node;
  }
}
