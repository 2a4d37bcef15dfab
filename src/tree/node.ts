import type { NodeRow } from '../ports/store.js';
import type { Draft } from './draft.js';
import type { ReadHandle } from './handles.js';
import type { Unseen } from './unseen.js';

/** A file or folder of a tree, as the kernels know it. Times are µs since the epoch. */
abstract class Entry {
  readonly id: number;
  readonly tree: number;
  /** 0 for memory, else the mount that a local file or folder belongs to. */
  mount: number;
  /** Null for the root, and for what was removed while somebody still holds it. */
  parent: DirectoryNode | null = null;
  name = '';
  mtime: number;
  atime: number;
  ctime: number;
  /** Times that kernels looked it up and did not forget; at 0 a removed node can go. */
  lookups = 0;

  constructor(row: NodeRow) {
    this.id = row.id;
    this.tree = row.tree;
    this.mount = row.mount;
    this.mtime = row.mtime;
    this.atime = row.atime;
    this.ctime = row.ctime;
  }

  get isLocal(): boolean {
    return this.mount !== 0;
  }
}

/** A folder. Memory is the same on every mount; what is local is kept by each mount's view. */
export class DirectoryNode extends Entry {
  readonly kind = 'directory';
  readonly children = new Map<string, TreeNode>();
  /** True while the times in memory are newer than those in the store. */
  timesChanged = false;
  #sorted: TreeNode[] | undefined;
  #folders: number | undefined;

  /** Children by id, which is the order that listings go on in. */
  get sorted(): readonly TreeNode[] {
    this.#sorted ??= [...this.children.values()].sort((a, b) => a.id - b.id);
    return this.#sorted;
  }

  /** How many of the children are folders. */
  get folders(): number {
    this.#folders ??= this.sorted.reduce((count, child) => count + (child.kind === 'directory' ? 1 : 0), 0);
    return this.#folders;
  }

  add(name: string, node: TreeNode): void {
    node.parent = this;
    node.name = name;
    this.children.set(name, node);
    this.#changed(node);
  }

  /** Takes a child out; the child keeps its name, by which it can come back. */
  remove(node: TreeNode): void {
    if (this.children.get(node.name) === node) this.children.delete(node.name);
    this.#changed(node);
    node.parent = null;
  }

  #changed(child: TreeNode): void {
    this.#sorted = undefined;
    if (child.kind === 'directory') this.#folders = undefined;
  }

  row(): NodeRow {
    return { ...common(this), kind: 'directory', content: null, size: 0, shown: 0 };
  }
}

/** A file: its head, and what is going on with it. */
export class FileNode extends Entry {
  readonly kind = 'file';
  /** The head; null for files never closed yet. A local file that was written in one go has its bytes here too. */
  content: number | null;
  size: number;
  /** Newest modification time of the head that anybody was told; the next content gets a later one. */
  shown: number;
  /** Drafts by session key. */
  drafts: Map<string, Draft> | undefined;
  /** Handles opened for reading. */
  readonly readers = new Set<ReadHandle>();
  /** When its name was made, in µs since the epoch; 0 when that was before this daemon looked. */
  made = 0;
  /** When it was first saved, in µs since the epoch; 0 when that was before this daemon looked. */
  born = 0;
  /** Key of the session that saved the head; undefined when not known. */
  savedBy: string | undefined;
  /** Heads that sessions could not remove because they did not know them, by session key: once more, and they can. */
  refused: Map<string, number | null> | undefined;
  /** A process that removed it in vain, since another session had saved it: that process sees it gone for a while. */
  hidden: Unseen | undefined;
  /** For a removed file: the session that removed it, null for somebody outside this mount. */
  removedBy: string | null | undefined;
  /** For a removed file: the one that was put in its place. */
  replacedBy: FileNode | undefined;
  /** For a removed file: where it was. */
  removedFrom = '';

  constructor(row: NodeRow) {
    super(row);
    this.content = row.content;
    this.size = row.size;
    this.shown = row.shown;
  }

  row(): NodeRow {
    return {
      ...common(this),
      kind: 'file',
      content: this.content,
      size: this.size,
      shown: Math.max(this.shown, this.mtime),
    };
  }

  /** A modification time for new content: now, or the next millisecond after every time shown (spec §3.8). */
  nextTime(now: number, alsoShown = 0): number {
    const shown = Math.floor(Math.max(this.shown, alsoShown) / 1000);
    return Math.floor(now / 1000) > shown ? now : (shown + 1) * 1000;
  }
}

export type TreeNode = DirectoryNode | FileNode;

function common(
  node: TreeNode,
): Pick<NodeRow, 'id' | 'tree' | 'mount' | 'parent' | 'name' | 'mtime' | 'atime' | 'ctime'> {
  const { id, tree, mount, mtime, atime, ctime, parent } = node;
  return { id, tree, mount, parent: parent?.id ?? null, name: parent ? node.name : null, mtime, atime, ctime };
}

/** The path of a node within its tree, `/` between names; empty for the root. */
export function pathOf(node: TreeNode): string {
  let path = node.name;
  for (let at = node.parent; at?.parent; at = at.parent) path = `${at.name}/${path}`;
  return path;
}

/** The path that a file is saved as: its own, or the one that it had when it was removed. */
export function savedAs(node: FileNode): string {
  return node.parent ? pathOf(node) : node.removedFrom;
}

/** How many names deep a node lies; the root lies at 0. */
export function depthOf(node: TreeNode): number {
  let depth = 0;
  for (let at = node.parent; at; at = at.parent) depth++;
  return depth;
}
