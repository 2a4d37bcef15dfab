import type { AttrReply, DataReply, DirectoryEntry, EntryReply, OpenReply, StatfsReply } from './reply.js';
import type { AttrChange, Caller, FileHandle } from './request.js';
import type { WireName } from './wire-reader.js';

/** A positive errno; an operation that answers nothing returns 0 when it is done. */
export type Errno = number;

/** An operation answers at once, or later when it must wait for a disk or for the kernels to be told. */
export type Answer<T> = T | Errno | Promise<T | Errno>;

/**
 * The operations of one mounted tree, as POSIX knows them; node and handle ids are the kernel's.
 * A thrown error becomes an errno in one place, `errnoOf`.
 */
export interface Operations {
  lookup(caller: Caller, parent: number, name: WireName): Answer<EntryReply>;
  forget(node: number, count: number): void;
  getattr(caller: Caller, node: number): Answer<AttrReply>;
  setattr(caller: Caller, node: number, change: AttrChange): Answer<AttrReply>;
  access(caller: Caller, node: number, mask: number): Answer<0>;
  mknod(caller: Caller, parent: number, name: WireName, mode: number): Answer<EntryReply>;
  mkdir(caller: Caller, parent: number, name: WireName): Answer<EntryReply>;
  unlink(caller: Caller, parent: number, name: WireName): Answer<0>;
  rmdir(caller: Caller, parent: number, name: WireName): Answer<0>;
  rename(
    caller: Caller,
    parent: number,
    name: WireName,
    newParent: number,
    newName: WireName,
    flags: number,
  ): Answer<0>;
  open(caller: Caller, node: number, flags: number): Answer<OpenReply>;
  create(caller: Caller, parent: number, name: WireName, flags: number): Answer<{ entry: EntryReply; open: OpenReply }>;
  read(caller: Caller, node: number, fh: FileHandle, offset: number, size: number): Answer<DataReply>;
  write(
    caller: Caller,
    node: number,
    fh: FileHandle,
    offset: number,
    data: Buffer,
    flags: number,
    fromCache: boolean,
  ): Answer<{ written: number }>;
  fallocate(caller: Caller, node: number, fh: FileHandle, offset: number, length: number, mode: number): Answer<0>;
  flush(caller: Caller, node: number, fh: FileHandle): Answer<0>;
  release(caller: Caller, node: number, fh: FileHandle): Answer<0>;
  fsync(caller: Caller): Answer<0>;
  /** Entries after `offset`, in order, for as long as the consumer returns true. */
  readdir(caller: Caller, node: number, offset: number, plus: boolean, take: (entry: DirectoryEntry) => boolean): Errno;
  statfs(caller: Caller): Answer<StatfsReply>;
  /** The answer of a request has gone to the kernel. */
  answered(caller: Caller): void;
}
