import type { WireName } from './wire-reader.js';

/** Who asks: `fuse_in_header`. `pid` is a thread id, 0 when the kernel acts on its own behalf. */
export interface Caller {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
  /** The kernel's number of the request, which the mount never sees again but for the same request. */
  readonly unique: number;
  /** The request was sent before, and whoever read it died before it was answered (NOTIFY_RESEND). */
  readonly resent: boolean;
}

/** An open file as the kernel hands it back: the two halves of the 64-bit `fh`. */
export interface FileHandle {
  readonly high: number;
  readonly low: number;
}

/** `fuse_setattr_in`. Times are µs since the epoch; a field is present when its FATTR bit was set. */
export interface AttrChange {
  readonly size?: number;
  readonly atime?: number | 'now';
  readonly mtime?: number | 'now';
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly fh?: FileHandle;
}

/** `fuse_init_in`; `flags` holds `flags` and `flags2` as one set of 64 bits. */
export interface InitIn {
  readonly op: 'init';
  readonly major: number;
  readonly minor: number;
  readonly maxReadahead: number;
  readonly flags: bigint;
}

interface Named<O extends string> {
  readonly op: O;
  readonly name: WireName;
}

/** What a request asks for, one case an opcode; field names follow `linux/fuse.h`. */
export type Body =
  | InitIn
  | Named<'lookup' | 'unlink' | 'rmdir' | 'symlink' | 'link'>
  | { readonly op: 'forget'; readonly list: readonly { readonly node: number; readonly count: number }[] }
  | { readonly op: 'getattr' | 'readlink' | 'statfs' | 'opendir' | 'syncfs' | 'destroy' | 'interrupt' | 'unknown' }
  | { readonly op: 'setattr'; readonly change: AttrChange }
  | { readonly op: 'mknod'; readonly name: WireName; readonly mode: number }
  | { readonly op: 'mkdir'; readonly name: WireName }
  | {
      readonly op: 'rename';
      readonly name: WireName;
      readonly newParent: number;
      readonly newName: WireName;
      readonly flags: number;
    }
  | { readonly op: 'open'; readonly flags: number }
  | { readonly op: 'create'; readonly name: WireName; readonly flags: number }
  | { readonly op: 'read'; readonly fh: FileHandle; readonly offset: number; readonly size: number }
  | {
      readonly op: 'write';
      readonly fh: FileHandle;
      readonly offset: number;
      readonly data: Buffer;
      readonly flags: number;
      readonly fromCache: boolean;
    }
  | { readonly op: 'flush' | 'release' | 'fsync'; readonly fh: FileHandle }
  | { readonly op: 'fsyncdir' | 'releasedir' }
  | {
      readonly op: 'fallocate';
      readonly fh: FileHandle;
      readonly offset: number;
      readonly length: number;
      readonly mode: number;
    }
  | { readonly op: 'readdir' | 'readdirplus'; readonly offset: number; readonly size: number }
  | { readonly op: 'access'; readonly mask: number };

/** One request: `fuse_in_header` and its body; it is answered with `uniqueLow` and `uniqueHigh` as they came. */
export interface Request {
  readonly opcode: number;
  readonly uniqueLow: number;
  readonly uniqueHigh: number;
  readonly node: number;
  readonly caller: Caller;
  readonly body: Body;
}
