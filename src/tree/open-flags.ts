/** Bits of `open(2)` flags as Linux has them on every architecture that Node.js runs on. */
export const O_ACCMODE = 0o3;
export const O_RDWR = 0o2;
export const O_EXCL = 0o200;
export const O_TRUNC = 0o1000;
export const O_APPEND = 0o2000;
/** Part of O_SYNC too. The kernel sets it for every write that has to be on the disk, as by RWF_DSYNC of pwritev2(2). */
export const O_DSYNC = 0o10000;

/** `FOPEN_*` of the kernel's protocol: how an opened file is cached. */
export const DIRECT_IO = 1 << 0;
export const KEEP_CACHE = 1 << 1;
export const NO_FLUSH = 1 << 5;
