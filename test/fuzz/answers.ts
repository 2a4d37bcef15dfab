import { Size } from '../../src/fuse/constants.js';
import { nameFault } from '../../src/ports/limits.js';
import type { Message } from './messages.js';

/** One message that the kernel's side got. */
export interface Answer {
  readonly unique: bigint;
  /** Positive; 0 for success. */
  readonly errno: number;
  readonly payload: Buffer;
}

/** Cuts what was received into messages; throws when it does not consist of whole ones. */
export function* cut(received: Buffer): Generator<Answer> {
  for (let at = 0; at < received.length; ) {
    const left = received.length - at;
    const length = left >= Size.OUT_HEADER ? received.readUInt32LE(at) : 0;
    if (length < Size.OUT_HEADER || length > left) throw new Error(`an answer of ${length} bytes in ${left}`);
    yield {
      unique: received.readBigUInt64LE(at + 8),
      errno: 0 - received.readInt32LE(at + 4),
      payload: received.subarray(at + Size.OUT_HEADER, at + length),
    };
    at += length;
  }
}

/** Largest errno that the kernel takes; it ends a connection that answers others. */
const ERRNO_MOST = 511;
const S_IFMT = 0o170000;

function checkAttributes(payload: Buffer, at: number): void {
  const mode = payload.readUInt32LE(at + 60);
  if (mode !== 0o040700 && mode !== 0o100600) throw new Error(`mode ${mode.toString(8)}`);
  if (payload.readUInt32LE(at + 68) !== (process.getuid?.() ?? 0)) throw new Error('owner');
  for (const nanos of [48, 52, 56]) if (payload.readUInt32LE(at + nanos) >= 1e9) throw new Error('nanoseconds');
  if ((mode & S_IFMT) === 0o100000 && payload.readBigUInt64LE(at + 8) > 2n ** 34n) throw new Error('size');
}

/** Directory entries: whole, padded, with names that can be in a folder. */
function checkListing(payload: Buffer, plus: boolean): void {
  for (let at = 0; at < payload.length; ) {
    const start = plus ? at + Size.ENTRY_OUT : at;
    const length = payload.readUInt32LE(start + 16);
    const name = payload.toString('utf8', start + Size.DIRENT, start + Size.DIRENT + length);
    if (name !== '.' && name !== '..' && nameFault(name)) throw new Error('a name that cannot be');
    if (plus && payload.readBigUInt64LE(at) !== 0n) checkAttributes(payload, at + 40);
    at = start + ((Size.DIRENT + length + 7) & ~7);
    if (at > payload.length) throw new Error('an entry that is cut short');
  }
}

/** Length of the payload of a success, by the number of the request; 0 for others. */
const LENGTHS: ReadonlyMap<number, number> = new Map([
  ...[1, 8, 9].map((opcode) => [opcode, Size.ENTRY_OUT] as const), // LOOKUP, MKNOD, MKDIR
  ...[3, 4].map((opcode) => [opcode, Size.ATTR_OUT] as const), // GETATTR, SETATTR
  ...[14, 27].map((opcode) => [opcode, Size.OPEN_OUT] as const), // OPEN, OPENDIR
  [16, Size.WRITE_OUT],
  [17, Size.STATFS_OUT],
  [26, Size.INIT_OUT],
  [35, Size.ENTRY_OUT + Size.OPEN_OUT], // CREATE
]);
const [READ, WRITE, READDIR, READDIRPLUS] = [15, 16, 28, 44];
/** Where `size` lies in a READ, READDIR, READDIRPLUS or WRITE. */
const SIZE_AT = 56;

/** Checks the form of an answer to what was asked; throws when it is wrong. */
export function checkAnswer({ opcode, bytes }: Message, { errno, payload }: Answer): void {
  if (errno < 0 || errno > ERRNO_MOST) throw new Error(`errno ${errno}`);
  if (errno === 0 && [READ, READDIR, READDIRPLUS].includes(opcode)) {
    if (payload.length > bytes.readUInt32LE(SIZE_AT)) throw new Error('more than was asked for');
    if (opcode !== READ) checkListing(payload, opcode === READDIRPLUS);
    return;
  }
  const length = errno === 0 ? (LENGTHS.get(opcode) ?? 0) : 0;
  if (payload.length !== length) throw new Error(`${payload.length} bytes in place of ${length}`);
  if (length === Size.ATTR_OUT) checkAttributes(payload, 16);
  if (length >= Size.ENTRY_OUT && payload.readBigUInt64LE(0) !== 0n) checkAttributes(payload, 40);
  if (length === Size.WRITE_OUT && opcode === WRITE && payload.readUInt32LE(0) !== bytes.readUInt32LE(SIZE_AT))
    throw new Error('another length than was written');
}
