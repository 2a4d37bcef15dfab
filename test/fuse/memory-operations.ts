import { constants } from 'node:os';
import type { Answer, Errno, Operations } from '../../src/fuse/operations.js';
import type { AttrReply, DataReply, DirectoryEntry, EntryReply, OpenReply, StatfsReply } from '../../src/fuse/reply.js';
import type { AttrChange, Caller, FileHandle } from '../../src/fuse/request.js';
import type { WireName } from '../../src/fuse/wire-reader.js';

const { ENOENT, EEXIST, EFBIG, EISDIR, EINVAL } = constants.errno;
const LARGEST = 16 * 1024 * 1024;
const DAY = 86_400_000_000;

interface MemoryNode {
  readonly id: number;
  name: string;
  parent: number;
  readonly kind: 'file' | 'directory';
  bytes: Buffer;
  mtime: number;
}

/** A file system of one process's memory: the least that can be served. The root is node 1. */
export class MemoryOperations implements Operations {
  readonly nodes = new Map<number, MemoryNode>();
  /** Lookups that the kernel gave back, by node. */
  readonly forgotten = new Map<number, number>();
  readonly flushed: number[] = [];
  readonly released: number[] = [];
  /** Requests whose answers have gone, by the kernel's numbers. */
  readonly answers: number[] = [];
  lastCaller: Caller | undefined;
  lastChange: AttrChange | undefined;
  /** Seconds that the kernel may keep names and attributes. */
  validity = 0;
  /** What the next operation on a file throws. */
  failure: unknown;
  /** An answer to `fsync` waits for this. */
  disk: Promise<0 | Errno> = Promise.resolve(0);
  #next = 2;

  constructor(files: Readonly<Record<string, string>> = {}) {
    this.nodes.set(1, { id: 1, name: '', parent: 0, kind: 'directory', bytes: Buffer.alloc(0), mtime: DAY });
    for (const [name, text] of Object.entries(files)) this.add(name, 'file', Buffer.from(text));
  }

  add(name: string, kind: 'file' | 'directory', bytes = Buffer.alloc(0), parent = 1): MemoryNode {
    const node = { id: this.#next++, name, parent, kind, bytes, mtime: DAY };
    this.nodes.set(node.id, node);
    return node;
  }

  child(parent: number, name: WireName): MemoryNode | undefined {
    return [...this.nodes.values()].find((node) => node.parent === parent && node.name === name);
  }

  lookup(caller: Caller, parent: number, name: WireName): EntryReply | Errno {
    this.#begin(caller);
    const node = this.child(parent, name);
    return node ? this.#entry(node) : ENOENT;
  }

  forget(node: number, count: number): void {
    this.forgotten.set(node, (this.forgotten.get(node) ?? 0) + count);
  }

  getattr(caller: Caller, node: number): AttrReply | Errno {
    this.#begin(caller);
    const found = this.nodes.get(node);
    return found ? this.#attr(found) : ENOENT;
  }

  setattr(caller: Caller, node: number, change: AttrChange): AttrReply | Errno {
    this.#begin(caller);
    this.lastChange = change;
    const found = this.nodes.get(node);
    if (!found) return ENOENT;
    if ((change.size ?? 0) > LARGEST) return EFBIG;
    if (change.size !== undefined)
      found.bytes = Buffer.concat([found.bytes, Buffer.alloc(change.size)]).subarray(0, change.size);
    if (typeof change.mtime === 'number') found.mtime = change.mtime;
    return this.#attr(found);
  }

  access(caller: Caller, node: number, mask: number): 0 | Errno {
    this.#begin(caller);
    return this.nodes.has(node) && (mask & 1) === 0 ? 0 : constants.errno.EACCES;
  }

  mknod(caller: Caller, parent: number, name: WireName): EntryReply | Errno {
    return this.#make(caller, parent, name, 'file');
  }

  mkdir(caller: Caller, parent: number, name: WireName): Answer<EntryReply> {
    return this.#make(caller, parent, name, 'directory');
  }

  unlink(caller: Caller, parent: number, name: WireName): 0 | Errno {
    this.#begin(caller);
    const node = this.child(parent, name);
    if (!node) return ENOENT;
    if (node.kind === 'directory') return EISDIR;
    this.nodes.delete(node.id);
    return 0;
  }

  rmdir(caller: Caller, parent: number, name: WireName): 0 | Errno {
    this.#begin(caller);
    const node = this.child(parent, name);
    if (!node) return ENOENT;
    this.nodes.delete(node.id);
    return 0;
  }

  rename(
    caller: Caller,
    parent: number,
    name: WireName,
    newParent: number,
    newName: WireName,
    flags: number,
  ): 0 | Errno {
    this.#begin(caller);
    const node = this.child(parent, name);
    const target = this.child(newParent, newName);
    if (!node || newName === null) return ENOENT;
    if (flags === 1 && target) return EEXIST;
    if (target) this.nodes.delete(target.id);
    node.parent = newParent;
    node.name = newName;
    return 0;
  }

  open(caller: Caller, node: number, flags: number): OpenReply | Errno {
    this.#begin(caller);
    return this.nodes.has(node) ? { fhHigh: flags, fhLow: node, openFlags: 1 } : ENOENT;
  }

  create(
    caller: Caller,
    parent: number,
    name: WireName,
    flags: number,
  ): { entry: EntryReply; open: OpenReply } | Errno {
    const entry = this.#make(caller, parent, name, 'file');
    return typeof entry === 'number' ? entry : { entry, open: { fhHigh: flags, fhLow: entry.node, openFlags: 1 } };
  }

  read(caller: Caller, node: number, _fh: FileHandle, offset: number, size: number): DataReply | Errno {
    this.#begin(caller);
    const bytes = this.nodes.get(node)?.bytes;
    if (!bytes) return ENOENT;
    const start = Math.min(offset, bytes.length);
    return { data: bytes, start, length: Math.min(size, bytes.length - start) };
  }

  write(caller: Caller, node: number, _fh: FileHandle, offset: number, data: Buffer): { written: number } | Errno {
    this.#begin(caller);
    const found = this.nodes.get(node);
    if (!found) return ENOENT;
    if (offset + data.length > LARGEST) return EFBIG;
    const grown = Buffer.alloc(Math.max(found.bytes.length, offset + data.length));
    found.bytes.copy(grown);
    data.copy(grown, offset);
    found.bytes = grown;
    return { written: data.length };
  }

  fallocate(caller: Caller, _node: number, _fh: FileHandle, _offset: number, length: number): 0 | Errno {
    this.#begin(caller);
    return length > 0 ? 0 : EINVAL;
  }

  flush(caller: Caller, node: number): 0 {
    this.#begin(caller);
    this.flushed.push(node);
    return 0;
  }

  release(caller: Caller, node: number): 0 {
    this.#begin(caller);
    this.released.push(node);
    return 0;
  }

  answered({ unique }: Caller): void {
    this.answers.push(unique);
  }

  fsync(caller: Caller): Promise<0 | Errno> {
    this.#begin(caller);
    return this.disk;
  }

  readdir(
    caller: Caller,
    node: number,
    offset: number,
    plus: boolean,
    take: (entry: DirectoryEntry) => boolean,
  ): Errno {
    this.#begin(caller);
    if (this.nodes.get(node)?.kind !== 'directory') return constants.errno.ENOTDIR;
    const own = { kind: 'directory', ino: node } as const;
    const children = [...this.nodes.values()].filter((child) => child.parent === node);
    const list = [
      { ...own, name: '.' },
      { ...own, name: '..' },
      ...children.map((child) => ({
        name: child.name,
        kind: child.kind,
        ino: child.id,
        ...(plus ? { entry: this.#entry(child) } : {}),
      })),
    ];
    for (let i = offset; i < list.length; i++) {
      const entry = list[i];
      if (entry && !take({ ...entry, offset: i + 1 })) break;
    }
    return 0;
  }

  statfs(): StatfsReply {
    return { bsize: 4096, blocks: 8192, bfree: 8000, files: 2000, ffree: 1990, namelen: 255 };
  }

  #begin(caller: Caller): void {
    this.lastCaller = caller;
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) throw failure;
  }

  #make(caller: Caller, parent: number, name: WireName, kind: 'file' | 'directory'): EntryReply | Errno {
    this.#begin(caller);
    if (name === null) return EINVAL;
    return this.child(parent, name) ? EEXIST : this.#entry(this.add(name, kind, Buffer.alloc(0), parent));
  }

  #attr({ id, kind, bytes, mtime }: MemoryNode): AttrReply {
    return {
      attrValid: this.validity,
      attr: { ino: id, kind, size: bytes.length, nlink: 1, mtime, atime: mtime, ctime: mtime },
    };
  }

  #entry(node: MemoryNode): EntryReply {
    return { node: node.id, entryValid: this.validity, ...this.#attr(node) };
  }
}
