import { constants } from 'node:os';
import { nameFault } from '../ports/limits.js';
import { entryFor } from './attributes.js';
import { type AttributeChange, changeAttributes } from './changing-attributes.js';
import { handleFor } from './finding-handles.js';
import type { Fh, Handle } from './handles.js';
import { truncateLocal, writeLocal } from './local-files.js';
import { makeDirectory, makeNode, removeDirectory, unlink } from './naming.js';
import type { TreeNode } from './node.js';
import { O_APPEND, O_DSYNC } from './open-flags.js';
import { create, flush, open, release, reopened } from './opening.js';
import { read } from './reading.js';
import { rename } from './renaming.js';
import * as repeating from './repeating.js';
import { answered, done, merged, onlyOnce, repeated, settled } from './requests.js';
import { isHidden } from './unseen.js';
import type { Caller, View } from './view.js';
import { changeDraft, contentOf, noteWriter, writeThrough } from './writing.js';

const { errno } = constants;
const X_OK = 1;
const BLOCK = 4096;
const NAME_MAX = 255;
const FALLOC_FL_KEEP_SIZE = 1;

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
    if (!node) return errno.ESTALE;
    const view = this.#view;
    const before = repeated(view, caller);
    if (before) return merged(view, caller, () => repeating.repeatAttributes(view, caller, node, change, before));
    return merged(view, caller, () => changeAttributes(view, caller, node, change));
  }

  access(_caller: Caller, id: number, mask: number): 0 | number {
    const node = this.#view.node(id);
    if (!node) return errno.ESTALE;
    return node.kind === 'file' && (mask & X_OK) !== 0 ? errno.EACCES : 0;
  }

  mknod(caller: Caller, parent: number, name: string | null, mode: number) {
    const view = this.#view;
    const before = repeated(view, caller);
    const again = before && settled(view, caller, () => repeating.repeatMknod(view, caller, parent, before));
    return again ?? settled(view, caller, () => makeNode(view, caller, parent, name, mode));
  }

  mkdir(caller: Caller, parent: number, name: string | null) {
    const view = this.#view;
    const before = repeated(view, caller);
    const again = before && repeating.repeatMaking(view, caller, parent, before);
    return again ?? settled(view, caller, () => makeDirectory(view, caller, parent, name));
  }

  unlink(caller: Caller, parent: number, name: string | null) {
    const view = this.#view;
    const before = repeated(view, caller);
    if (before) return repeating.repeatUnlink(view, caller, parent, name, before);
    return done(settled(view, caller, () => unlink(view, caller, parent, name)));
  }

  rmdir(caller: Caller, parent: number, name: string | null) {
    const view = this.#view;
    const before = repeated(view, caller);
    if (before) return repeating.repeatRmdir(view, parent, before);
    return done(settled(view, caller, () => removeDirectory(view, parent, name)));
  }

  rename(
    caller: Caller,
    parent: number,
    name: string | null,
    newParent: number,
    newName: string | null,
    flags: number,
  ) {
    const view = this.#view;
    const before = repeated(view, caller);
    if (before) return repeating.repeatRename(view, caller, { parent, name, newParent, newName, flags }, before);
    return done(
      merged(view, caller, () => {
        const told = rename(view, caller, parent, name, newParent, newName, flags);
        // What sessions know moves with a name: a second time it would be overwritten by what they know of the old one.
        onlyOnce(view, caller);
        return told;
      }),
    );
  }

  open(caller: Caller, id: number, flags: number) {
    const view = this.#view;
    const node = view.file(id);
    if (typeof node === 'number') return node;
    view.opened(node);
    const isRepeated = repeated(view, caller) !== undefined;
    return reopened(view, caller) ?? settled(view, caller, () => open(view, caller, node, flags, isRepeated));
  }

  create(caller: Caller, parent: number, name: string | null, flags: number) {
    const view = this.#view;
    const before = repeated(view, caller);
    const again = repeating.repeatOpening(view, caller) ?? repeating.repeatCreate(view, caller, parent, flags, before);
    return again ?? settled(view, caller, () => create(view, caller, parent, name, flags, before !== undefined));
  }

  read(caller: Caller, id: number, fh: Fh, offset: number, size: number) {
    const node = this.#view.file(id);
    return typeof node === 'number' ? node : read(this.#view, caller, node, fh, offset, size);
  }

  write(caller: Caller, id: number, fh: Fh, offset: number, data: Buffer, flags: number, _fromCache: boolean) {
    const result = this.#write(caller, id, fh, offset, data, flags);
    // The kernel sends no FSYNC after it.
    return (flags & O_DSYNC) === 0 || typeof result === 'number' ? result : this.fsync(caller).then(() => result);
  }

  #write(caller: Caller, id: number, fh: Fh, offset: number, data: Buffer, flags: number) {
    const view = this.#view;
    const handle = handleFor(view, caller, id, fh);
    const node = view.file(id);
    if (typeof node === 'number') return node;
    let code: number;
    if (handle?.kind === 'write') {
      const { pid } = view.caller(caller);
      const append = (flags & O_APPEND) !== 0;
      if (append && repeated(view, caller)) return repeating.repeatWrite(view, caller, id, fh, data.length);
      // What is written to a place can be written there twice.
      const once = append ? caller : undefined;
      code = settled(view, once, () => writeThrough(view, handle, pid, offset, data, append));
    } else if (node.isLocal) {
      code = settled(view, undefined, () => writeLocal(view, node, offset, data));
      this.#noteLocal(handle);
    } else code = errno.EBADF;
    return code === 0 ? { written: data.length } : code;
  }

  /** Notes that a local file was written through a handle. */
  #noteLocal(handle: Handle | undefined): void {
    if (handle?.kind !== 'local' || handle.wrote) return;
    handle.wrote = true;
    this.#view.handles.changed(handle);
  }

  fallocate(caller: Caller, id: number, fh: Fh, offset: number, length: number, mode: number): 0 | number {
    const view = this.#view;
    const node = view.file(id);
    if (typeof node === 'number') return node;
    if ((mode & ~FALLOC_FL_KEEP_SIZE) !== 0) return errno.EOPNOTSUPP;
    // Room is not set aside: the limits are checked when it is written to.
    const grows = (mode & FALLOC_FL_KEEP_SIZE) === 0;
    const handle = handleFor(view, caller, id, fh);
    if (handle?.kind !== 'write') {
      if (!node.isLocal) return errno.EBADF;
      const end = offset + length;
      if (!grows || end <= node.size) return 0;
      this.#noteLocal(handle);
      return settled(view, undefined, () => truncateLocal(view, node, end));
    }
    if (!grows) return 0;
    const { draft } = handle;
    const size = draft.dirty ? draft.size : contentOf(view, handle.snapshot).length;
    if (offset + length <= size) return 0;
    const { pid } = view.caller(caller);
    const change = { length: offset + length };
    const code = settled(view, undefined, () => changeDraft(view, draft, handle.snapshot, change, pid));
    if (code === 0) noteWriter(view, handle, pid);
    return code;
  }

  flush(caller: Caller, id: number, fh: Fh) {
    const view = this.#view;
    const before = repeated(view, caller);
    if (before) return repeating.repeatFlush(view, caller, id, fh, before);
    return done(merged(view, caller, () => flush(view, caller, handleFor(view, caller, id, fh))));
  }

  release(caller: Caller, id: number, fh: Fh) {
    const view = this.#view;
    const { handles } = view;
    const before = repeated(view, caller);
    if (before) return repeating.repeatRelease(view, caller, id, fh, before);
    const handle = handleFor(view, caller, id, fh);
    // One that is sent again may have been done by the process that did not come to answer it.
    if (!handle) return caller.resent ? 0 : errno.EBADF;
    const { serial } = handle;
    // Stays in the table until it is done: a mount that ends meanwhile looks after what is open.
    const result = merged(view, caller, () => release(view, handles.at(serial)));
    if (!(result instanceof Promise)) handles.remove(serial);
    else handle.leaving = true;
    return done(result instanceof Promise ? result.finally(() => handles.remove(serial)) : result);
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

  answered(caller: Caller): void {
    answered(this.#view, caller);
  }

  #entry(node: TreeNode, caller: Caller) {
    return entryFor(this.#view, node, caller);
  }

  statfs(_caller: Caller) {
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
