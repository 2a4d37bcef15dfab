import { constants } from 'node:os';
import { nameFault } from '../ports/limits.js';
import { Outdated } from '../ports/store.js';
import { entryFor } from './attributes.js';
import { type AttributeChange, changeAttributes } from './changing-attributes.js';
import type { Fh } from './handles.js';
import { writeLocal } from './local-files.js';
import { Unmerged } from './merging.js';
import { makeDirectory, makeNode, removeDirectory, unlink } from './naming.js';
import type { TreeNode } from './node.js';
import { O_APPEND } from './open-flags.js';
import { create, flush, open, release } from './opening.js';
import { read } from './reading.js';
import { rename } from './renaming.js';
import type { Told } from './saving.js';
import { isHidden } from './unseen.js';
import type { Caller, View } from './view.js';
import { changeDraft, contentOf, writeThrough } from './writing.js';

const { errno } = constants;
const X_OK = 1;
const BLOCK = 4096;
const NAME_MAX = 255;
const FALLOC_FL_KEEP_SIZE = 1;

/** Answers 0 at once, or when the other kernels were told. */
function done(result: Told | number): number | Promise<number> {
  if (!(result instanceof Promise)) return result ?? 0;
  return result.then((value) => (typeof value === 'number' ? value : 0));
}

/** How often an operation looks again when others keep changing the tree before it can commit. */
const ATTEMPTS = 20;

/** Runs an operation, and runs it again when others had changed what it looked at (`Outdated`). */
function settled<T>(work: () => T): T {
  for (let attempt = 1; ; attempt++) {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Outdated) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** How often a merge is tried beside other requests when its sides keep changing; then everybody waits for it. */
const PATIENCE = 3;

/** The same for an operation that may need a merge: that is done elsewhere when it takes long, and other requests go on. */
function merged<T>(view: View, work: () => T, attempt = 1): T | Promise<Awaited<T>> {
  const { merger } = view.tree.services;
  try {
    merger.inPlace = attempt > PATIENCE;
    return settled(work);
  } catch (error) {
    if (!(error instanceof Unmerged)) throw error;
    return error.ready.then(() => merged(view, work, attempt + 1)) as Promise<Awaited<T>>;
  } finally {
    merger.inPlace = false;
  }
}

/** The operations of one mount, as the kernel calls them; each answers, or returns a positive errno. */
export class ViewOperations {
  readonly #view: View;

  constructor(view: View) {
    this.#view = view;
  }

  lookup(caller: Caller, parent: number, name: string | null) {
    const directory = this.#view.directory(parent);
    if (typeof directory === 'number') return directory;
    const fault = nameFault(name);
    if (fault || name === null) return fault === 'too long' ? errno.ENAMETOOLONG : errno.EINVAL;
    const node = this.#view.child(directory, name);
    if (!node || (node.kind === 'file' && isHidden(this.#view, node, caller)))
      return this.#view.missing(directory, name, caller, node !== undefined);
    const entry = this.#view.found(node, caller);
    // What one process is not to see for a while has to be asked for each time.
    return node.kind === 'file' && node.hidden ? { ...entry, entryValid: 0 } : entry;
  }

  forget(node: number, count: number): void {
    this.#view.forget(node, count);
  }

  getattr(caller: Caller, id: number) {
    const node = this.#view.node(id);
    return node ? this.#view.attributes(node, caller) : errno.ESTALE;
  }

  setattr(caller: Caller, id: number, change: AttributeChange) {
    const node = this.#view.node(id);
    return node ? merged(this.#view, () => changeAttributes(this.#view, caller, node, change)) : errno.ESTALE;
  }

  access(_caller: Caller, id: number, mask: number): 0 | number {
    const node = this.#view.node(id);
    if (!node) return errno.ESTALE;
    return node.kind === 'file' && (mask & X_OK) !== 0 ? errno.EACCES : 0;
  }

  mknod(caller: Caller, parent: number, name: string | null, mode: number) {
    return settled(() => makeNode(this.#view, caller, parent, name, mode));
  }

  mkdir(caller: Caller, parent: number, name: string | null) {
    return settled(() => makeDirectory(this.#view, caller, parent, name));
  }

  unlink(caller: Caller, parent: number, name: string | null) {
    return done(settled(() => unlink(this.#view, caller, parent, name)));
  }

  rmdir(_caller: Caller, parent: number, name: string | null) {
    return done(settled(() => removeDirectory(this.#view, parent, name)));
  }

  rename(
    caller: Caller,
    parent: number,
    name: string | null,
    newParent: number,
    newName: string | null,
    flags: number,
  ) {
    return done(merged(this.#view, () => rename(this.#view, caller, parent, name, newParent, newName, flags)));
  }

  open(caller: Caller, id: number, flags: number) {
    const node = this.#view.file(id);
    return typeof node === 'number' ? node : settled(() => open(this.#view, caller, node, flags));
  }

  create(caller: Caller, parent: number, name: string | null, flags: number) {
    return settled(() => create(this.#view, caller, parent, name, flags));
  }

  read(caller: Caller, id: number, fh: Fh, offset: number, size: number) {
    const node = this.#view.file(id);
    return typeof node === 'number' ? node : read(this.#view, caller, node, fh, offset, size);
  }

  write(caller: Caller, id: number, fh: Fh, offset: number, data: Buffer, flags: number, _fromCache: boolean) {
    const view = this.#view;
    const handle = view.handles.get(fh);
    const node = view.file(id);
    if (typeof node === 'number') return node;
    let code: number;
    if (handle?.kind === 'write') {
      const { pid } = view.caller(caller);
      code = settled(() => writeThrough(view, handle, pid, offset, data, (flags & O_APPEND) !== 0));
    } else if (node.isLocal) {
      code = settled(() => writeLocal(view, node, offset, data));
      if (handle?.kind === 'local') handle.wrote = true;
    } else code = errno.EBADF;
    return code === 0 ? { written: data.length } : code;
  }

  fallocate(caller: Caller, id: number, fh: Fh, offset: number, length: number, mode: number): 0 | number {
    const view = this.#view;
    const node = view.file(id);
    if (typeof node === 'number') return node;
    if ((mode & ~FALLOC_FL_KEEP_SIZE) !== 0) return errno.EOPNOTSUPP;
    const handle = view.handles.get(fh);
    if ((mode & FALLOC_FL_KEEP_SIZE) !== 0 || handle?.kind !== 'write')
      return handle?.kind === 'write' ? 0 : errno.EOPNOTSUPP;
    const { draft } = handle;
    const size = draft.dirty ? draft.size : contentOf(view, handle.snapshot).length;
    if (offset + length <= size) return 0;
    const { pid } = view.caller(caller);
    const code = settled(() => changeDraft(view, draft, handle.snapshot, { length: offset + length }, pid));
    if (code !== 0) return code;
    handle.writers.add(pid);
    handle.opener = undefined;
    return 0;
  }

  flush(caller: Caller, _id: number, fh: Fh) {
    return done(merged(this.#view, () => flush(this.#view, caller, this.#view.handles.get(fh))));
  }

  release(_caller: Caller, _id: number, fh: Fh) {
    const { handles } = this.#view;
    // Stays in the table until it is done: a mount that ends meanwhile looks after what is open.
    const result = merged(this.#view, () => release(this.#view, handles.get(fh)));
    if (!(result instanceof Promise)) handles.delete(fh);
    return done(result instanceof Promise ? result.finally(() => handles.delete(fh)) : result);
  }

  fsync(_caller: Caller): Promise<0> {
    return this.#view.tree.services.store.flushed().then(() => 0 as const);
  }

  readdir(caller: Caller, id: number, offset: number, plus: boolean, take: (entry: DirectoryLine) => boolean): number {
    const view = this.#view;
    const directory = view.directory(id);
    if (typeof directory === 'number') return directory;
    if (offset < 1 && !take({ name: '.', offset: 1, kind: 'directory', ino: id })) return 0;
    const parent = directory.parent && directory.parent !== view.tree.root ? directory.parent.id : 1;
    if (offset < 2 && !take({ name: '..', offset: 2, kind: 'directory', ino: parent })) return 0;
    const list = view.list(directory);
    for (let i = firstAfter(list, offset); i < list.length; i++) {
      const node = list[i] as TreeNode;
      const line: DirectoryLine = { name: node.name, offset: node.id, kind: node.kind, ino: node.id };
      if (!take(plus ? { ...line, entry: this.#entry(node, caller) } : line)) return 0;
      if (plus) view.count(node);
    }
    return 0;
  }

  #entry(node: TreeNode, caller: Caller) {
    return entryFor(this.#view, node, caller);
  }

  statfs() {
    const { quota } = this.#view.tree;
    const { limits } = quota;
    return {
      bsize: BLOCK,
      blocks: Math.floor(limits.bytes / BLOCK),
      bfree: Math.max(0, Math.floor((limits.bytes - quota.claimed) / BLOCK)),
      files: limits.files,
      ffree: Math.max(0, limits.files - quota.files),
      namelen: NAME_MAX,
    };
  }
}

/** One line of a listing. */
export interface DirectoryLine {
  readonly name: string;
  readonly offset: number;
  readonly kind: 'file' | 'directory';
  readonly ino: number;
  readonly entry?: ReturnType<View['found']>;
}

/** Index of the first node whose id is above `offset`. */
function firstAfter(list: readonly TreeNode[], offset: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as TreeNode).id > offset) high = middle;
    else low = middle + 1;
  }
  return low;
}
