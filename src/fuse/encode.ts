import { Size } from './constants.js';
import type { Attr, AttrReply, DirectoryEntry, EntryReply, OpenReply, StatfsReply } from './reply.js';

const TWO_32 = 4294967296;
const S_IFDIR_0700 = 0o040700;
const S_IFREG_0600 = 0o100600;
const DT_DIR = 4;
const DT_REG = 8;
const BLOCK_SIZE = 4096;

/** Owner of every file of a mount, for `fuse_attr`. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Writes replies into one buffer that is used again for each; little-endian hosts only. */
export class WireWriter {
  readonly bytes: Buffer;
  readonly #view: DataView;
  readonly #owner: Owner;
  /** Bytes written so far, header included. */
  length = Size.OUT_HEADER as number;

  constructor(bytes: Buffer, owner: Owner) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#owner = owner;
  }

  /** Starts a reply: room for the header, nothing else. */
  begin(): void {
    this.length = Size.OUT_HEADER;
  }

  /** Fills in `fuse_out_header`; `payload` bytes follow in the second part of the write. `errno` is 0 or positive. */
  finish(uniqueLow: number, uniqueHigh: number, errno: number, payload = 0): void {
    const v = this.#view;
    v.setUint32(0, this.length + payload, true);
    v.setInt32(4, -errno, true);
    v.setUint32(8, uniqueLow, true);
    v.setUint32(12, uniqueHigh, true);
  }

  u32(value: number): void {
    this.#view.setUint32(this.length, value, true);
    this.length += 4;
  }

  u64(value: number): void {
    const v = this.#view;
    v.setUint32(this.length, value % TWO_32, true);
    v.setUint32(this.length + 4, value / TWO_32, true);
    this.length += 8;
  }

  /** Writes `struct fuse_attr` (88 bytes). */
  attr(attr: Attr): void {
    const at = this.length;
    const v = this.#view;
    const mtime = Math.floor(attr.mtime / 1e6);
    const ctime = Math.floor(attr.ctime / 1e6);
    const atime = Math.floor(attr.atime / 1e6);
    this.u64(attr.ino);
    this.u64(attr.size);
    this.u64(Math.ceil(attr.size / BLOCK_SIZE) * (BLOCK_SIZE / 512));
    this.#time(atime);
    this.#time(mtime);
    this.#time(ctime);
    v.setUint32(at + 48, (attr.atime - atime * 1e6) * 1000, true);
    v.setUint32(at + 52, (attr.mtime - mtime * 1e6) * 1000, true);
    v.setUint32(at + 56, (attr.ctime - ctime * 1e6) * 1000, true);
    v.setUint32(at + 60, attr.kind === 'directory' ? S_IFDIR_0700 : S_IFREG_0600, true);
    v.setUint32(at + 64, attr.nlink, true);
    v.setUint32(at + 68, this.#owner.uid, true);
    v.setUint32(at + 72, this.#owner.gid, true);
    v.setUint32(at + 76, 0, true);
    v.setUint32(at + 80, BLOCK_SIZE, true);
    v.setUint32(at + 84, 0, true);
    this.length = at + Size.ATTR;
  }

  /** Writes `struct fuse_attr_out`. */
  attrOut(reply: AttrReply): void {
    this.u64(reply.attrValid);
    this.u64(0);
    this.attr(reply.attr);
  }

  /** Writes `struct fuse_entry_out`; generation is always 0, since node ids are never used again. */
  entryOut(reply: EntryReply): void {
    this.u64(reply.node);
    this.u64(0);
    this.u64(reply.entryValid);
    this.u64(reply.attrValid);
    this.u64(0);
    this.attr(reply.attr);
  }

  /** Writes `struct fuse_open_out`. */
  openOut(reply: OpenReply): void {
    this.u32(reply.fhLow);
    this.u32(reply.fhHigh);
    this.u32(reply.openFlags);
    this.u32(0);
  }

  /** Writes `struct fuse_statfs_out`. */
  statfsOut(reply: StatfsReply): void {
    this.u64(reply.blocks);
    this.u64(reply.bfree);
    this.u64(reply.bfree);
    this.u64(reply.files);
    this.u64(reply.ffree);
    this.u32(reply.bsize);
    this.u32(reply.namelen);
    this.u32(reply.bsize);
    for (let i = 0; i < 7; i++) this.u32(0);
  }

  /**
   * Appends `struct fuse_dirent`, or `fuse_direntplus` when `plus`, padded to 8 bytes.
   * Returns false, with nothing written, when the reply would grow beyond `room` bytes of payload.
   */
  directoryEntry(entry: DirectoryEntry, plus: boolean, room: number): boolean {
    const nameLength = Buffer.byteLength(entry.name);
    const size = ((plus ? Size.ENTRY_OUT : 0) + Size.DIRENT + nameLength + 7) & ~7;
    const start = this.length;
    if (start - Size.OUT_HEADER + size > room || start + size > this.bytes.length) return false;
    if (plus) {
      if (entry.entry) this.entryOut(entry.entry);
      else this.length = this.bytes.fill(0, start, start + Size.ENTRY_OUT) && start + Size.ENTRY_OUT;
    }
    this.u64(entry.ino);
    this.u64(entry.offset);
    this.u32(nameLength);
    this.u32(entry.kind === 'directory' ? DT_DIR : DT_REG);
    this.bytes.write(entry.name, this.length, 'utf8');
    this.bytes.fill(0, this.length + nameLength, start + size);
    this.length = start + size;
    return true;
  }

  #time(seconds: number): void {
    this.#view.setUint32(this.length, seconds, true);
    this.#view.setInt32(this.length + 4, Math.floor(seconds / TWO_32), true);
    this.length += 8;
  }
}
