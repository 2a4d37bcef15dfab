/** What an operation answers. All times are µs since the epoch, all sizes bytes, all validities seconds. */
export interface Attr {
  readonly ino: number;
  readonly kind: 'file' | 'directory';
  readonly size: number;
  readonly mtime: number;
  readonly atime: number;
  readonly ctime: number;
  readonly nlink: number;
}

/** `fuse_attr_out`: attributes and how long the kernel may keep them. */
export interface AttrReply {
  readonly attr: Attr;
  readonly attrValid: number;
}

/** `fuse_entry_out`; node 0 tells the kernel to remember that there is no such name. */
export interface EntryReply extends AttrReply {
  readonly node: number;
  readonly entryValid: number;
}

/** `fuse_open_out`. */
export interface OpenReply {
  readonly fhHigh: number;
  readonly fhLow: number;
  readonly openFlags: number;
}

/** `fuse_statfs_out`, in blocks of `bsize` bytes. */
export interface StatfsReply {
  readonly bsize: number;
  readonly blocks: number;
  readonly bfree: number;
  readonly files: number;
  readonly ffree: number;
  readonly namelen: number;
}

/** One name of a directory; `offset` is where a later READDIR goes on after it. */
export interface DirectoryEntry {
  readonly name: string;
  readonly offset: number;
  readonly kind: 'file' | 'directory';
  readonly ino: number;
  /** What LOOKUP of the name would answer, for READDIRPLUS; undefined for `.` and `..`. */
  readonly entry?: EntryReply;
}

/** A slice of bytes that goes out as the second part of a gathered write, without a copy. */
export interface DataReply {
  readonly data: Buffer;
  readonly start: number;
  readonly length: number;
}
