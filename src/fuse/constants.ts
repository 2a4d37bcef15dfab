/** Numbers of the kernel's FUSE protocol, named as in `linux/fuse.h` (7.38, and what kernels after it added). */

export const FUSE_KERNEL_VERSION = 7;
/** Newest minor version whose messages this code knows. */
export const FUSE_KERNEL_MINOR_VERSION = 45;
/** Oldest minor version that has every struct in the size decoded here (Linux 4.20). */
export const FUSE_MINIMUM_MINOR_VERSION = 28;
export const FUSE_ROOT_ID = 1;

/** `enum fuse_opcode`: the requests that are decoded; the others are answered ENOSYS. */
export const Opcode = {
  LOOKUP: 1,
  FORGET: 2,
  GETATTR: 3,
  SETATTR: 4,
  READLINK: 5,
  SYMLINK: 6,
  MKNOD: 8,
  MKDIR: 9,
  UNLINK: 10,
  RMDIR: 11,
  RENAME: 12,
  LINK: 13,
  OPEN: 14,
  READ: 15,
  WRITE: 16,
  STATFS: 17,
  RELEASE: 18,
  FSYNC: 20,
  FLUSH: 25,
  INIT: 26,
  OPENDIR: 27,
  READDIR: 28,
  RELEASEDIR: 29,
  FSYNCDIR: 30,
  ACCESS: 34,
  CREATE: 35,
  INTERRUPT: 36,
  DESTROY: 38,
  BATCH_FORGET: 42,
  FALLOCATE: 43,
  READDIRPLUS: 44,
  RENAME2: 45,
  SYNCFS: 50,
} as const;

/** `enum fuse_notify_code`. RESEND is of 7.40, INC_EPOCH of 7.44. */
export const Notify = { INVAL_INODE: 2, INVAL_ENTRY: 3, RESEND: 7, INC_EPOCH: 8 } as const;

/** `FUSE_EXPIRE_ONLY` of `fuse_notify_inval_entry_out.flags`, and the first minor version that has it. */
export const EXPIRE_ONLY = 1 << 0;
export const MINOR_EXPIRE_ONLY = 38;

/** First minor version with FUSE_NOTIFY_INC_EPOCH. */
export const MINOR_INC_EPOCH = 44;

/** Bits of `fuse_init_in.flags` and `flags2` (as one 64-bit set, by bit number). */
export const InitBit = {
  ASYNC_READ: 0,
  ATOMIC_O_TRUNC: 3,
  BIG_WRITES: 5,
  AUTO_INVAL_DATA: 12,
  DO_READDIRPLUS: 13,
  ASYNC_DIO: 15,
  PARALLEL_DIROPS: 18,
  ABORT_ERROR: 21,
  MAX_PAGES: 22,
  INIT_EXT: 30,
  HAS_RESEND: 39,
  REQUEST_TIMEOUT: 42,
} as const;

/** `FOPEN_*` bits of `fuse_open_out.open_flags`. */
export const FOPEN_DIRECT_IO = 1 << 0;
export const FOPEN_KEEP_CACHE = 1 << 1;
export const FOPEN_NOFLUSH = 1 << 5;

/** `FATTR_*` bits of `fuse_setattr_in.valid`. */
export const Fattr = {
  MODE: 1 << 0,
  UID: 1 << 1,
  GID: 1 << 2,
  SIZE: 1 << 3,
  ATIME: 1 << 4,
  MTIME: 1 << 5,
  FH: 1 << 6,
  ATIME_NOW: 1 << 7,
  MTIME_NOW: 1 << 8,
} as const;

/** Sizes in bytes of the structs that go over the wire. */
export const Size = {
  IN_HEADER: 40,
  OUT_HEADER: 16,
  ATTR: 88,
  ENTRY_OUT: 128,
  ATTR_OUT: 104,
  OPEN_OUT: 16,
  STATFS_OUT: 80,
  INIT_OUT: 64,
  WRITE_OUT: 8,
  DIRENT: 24,
} as const;

/** Largest payload of one WRITE, in bytes: 256 pages. */
export const MAX_WRITE = 1 << 20;
/** Largest payload of one answer to READ, in bytes: what a kernel asks for at most. */
export const MAX_READ = MAX_WRITE;
/** A buffer of this many bytes holds any request. */
export const REQUEST_BUFFER_SIZE = MAX_WRITE + 64 * 1024;
