import { Size } from '../../src/fuse/constants.js';

/** A seeded generator: whole numbers from 0 to below `bound`. */
export type RandomSource = (bound: number) => number;

/** What requests can be about: ids that were answered before, and some that never were. */
export interface Known {
  readonly nodes: readonly bigint[];
  readonly handles: readonly bigint[];
  /** Nodes with handles of theirs. */
  readonly open: readonly (readonly [node: bigint, handle: bigint])[];
}

const HUGE = [0n, 1n, 2n ** 31n, 2n ** 32n, 2n ** 40n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 64n - 1n];
const SIZES = [0n, 1n, 10n, 4095n, 4096n, 65_536n, 1_048_576n, 1_048_577n, ...HUGE];
const NAMES = [
  'a.md',
  'b.md',
  'MEMORY.md',
  'sub',
  'deep',
  'note.md~',
  'c.md.tmp.12.0123456789ab',
  '.DS_Store',
  '.lock',
];
const ODD_NAMES: readonly Buffer[] = [
  ...['.', '..', '/', 'a/b', '../a.md', '../../../etc/passwd', '\u202etxt', '\ufeff', ' ', '-rf', '\n', '\u0001'],
  ...['__proto__', 'constructor', 'toString', '%s%n', "'; DROP TABLE node; --", 'é', 'e\u0301'],
  ...[250, 254, 255, 256, 1000].map((length) => 'n'.repeat(length)),
  ...['😀'.repeat(63), '😀'.repeat(64)],
].map((name) => Buffer.from(name));
const BAD_BYTES = ['ff', 'c0af', 'eda080', 'f4908080', '80', '61ff62'].map((hex) => Buffer.from(hex, 'hex'));

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

export function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value));
  return bytes;
}

/** A request to send: its bytes, and what of it decides on the answer. */
export interface Message {
  readonly bytes: Buffer;
  readonly opcode: number;
  readonly unique: bigint;
  /** Whether its bytes were tampered with after it was put together. */
  readonly isDamaged: boolean;
}

/** Makes requests at random: mostly ones that a kernel could send, with odd ids, names, offsets and flags among them. */
export class Messages {
  readonly #random: RandomSource;
  /** The open file that the request under way is about, if it is to be a likely one. */
  #file: readonly [node: bigint, handle: bigint] | undefined;

  constructor(random: RandomSource) {
    this.#random = random;
  }

  make(unique: bigint, known: Known): Message {
    const usual = OPCODES[this.#random(OPCODES.length)] ?? 0;
    const opcode = this.#random(60) === 0 ? this.#random(5000) : usual;
    const isOfFile = WITH_HANDLE.has(opcode) && this.#random(2) === 0;
    this.#file = isOfFile && known.open.length > 0 ? this.#pick(known.open) : undefined;
    const body = Buffer.concat(this.#body(opcode, known));
    const header = Buffer.concat([
      ...[u32(Size.IN_HEADER + body.length), u32(opcode), u64(unique), u64(this.#file?.[0] ?? this.#node(known))],
      ...[u32(this.#owner()), u32(this.#owner()), u32(this.#caller()), u32(0)],
    ]);
    const bytes = Buffer.concat([header, body]);
    return this.#random(8) === 0 ? this.#damaged(bytes, unique) : { bytes, opcode, unique, isDamaged: false };
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#random(list.length)] as T;
  }

  #node({ nodes }: Known): bigint {
    const kind = this.#random(20);
    if (kind < 4) return 1n;
    if (kind < 18 && nodes.length > 0) return this.#pick(nodes);
    return kind === 18 ? BigInt(this.#random(2000)) : this.#pick(HUGE);
  }

  /** Of a handle that was given out, of one with another kind or number, or of any row. */
  #handle({ handles }: Known): Buffer {
    if (this.#file) return u64(this.#file[1]);
    const kind = this.#random(10);
    if (kind < 7 && handles.length > 0) return u64(this.#pick(handles));
    const row = BigInt(this.#random(400));
    return u64(
      kind === 9 ? this.#pick(HUGE) : (BigInt(this.#random(16)) << 60n) | (BigInt(this.#random(300)) << 40n) | row,
    );
  }

  #owner(): number {
    return this.#random(4) === 0 ? this.#random(70_000) : (process.getuid?.() ?? 0);
  }

  #caller(): number {
    const kind = this.#random(6);
    if (kind < 3) return process.pid;
    if (kind === 3) return process.ppid;
    return kind === 4 ? 0 : this.#random(2 ** 31);
  }

  #number(): Buffer {
    const kind = this.#random(4);
    if (kind === 0) return u64(this.#pick(SIZES));
    if (kind === 1) return u64(BigInt(this.#random(2 ** 31)) * BigInt(this.#random(2 ** 31)));
    return u64(BigInt(this.#random(3000)));
  }

  #flags(): Buffer {
    const kind = this.#random(4);
    if (kind === 0) return u32(this.#random(2 ** 32));
    return u32(this.#pick([0, 1, 2, 0o1001, 0o1002, 0o2001, 0o2002, 0o301, 0o3001, 3, 1 << this.#random(20)]));
  }

  #name(): Buffer {
    const kind = this.#random(10);
    if (kind < 7) return Buffer.from(`${this.#pick(NAMES)}\0`);
    const name = kind === 7 ? this.#pick(ODD_NAMES) : kind === 8 ? this.#pick(BAD_BYTES) : this.#bytes(20);
    return this.#random(20) === 0 ? name : Buffer.concat([name, Buffer.alloc(1)]);
  }

  #bytes(most: number): Buffer {
    return Buffer.from(Array.from({ length: this.#random(most) }, () => this.#random(256)));
  }

  #text(): Buffer {
    const kind = this.#random(8);
    if (kind === 0) return this.#bytes(100);
    if (kind === 1) return Buffer.alloc(this.#random(70_000), 'x');
    return Buffer.from(`line ${this.#random(50)}\n`.repeat(this.#random(20)));
  }

  #body(opcode: number, known: Known): Buffer[] {
    const pad = u32(0);
    const zero = u64(0n);
    switch (opcode) {
      case 1: // LOOKUP
      case 10: // UNLINK
      case 11: // RMDIR
        return [this.#name()];
      case 2: // FORGET
        return [this.#number()];
      case 3: // GETATTR
        return [u32(this.#random(2)), pad, this.#handle(known)];
      case 4: // SETATTR
        return this.#attributes(known);
      case 6: // SYMLINK
        return [this.#name(), this.#name()];
      case 8: // MKNOD
        return [this.#mode(), this.#flags(), u32(0o22), pad, this.#name()];
      case 9: // MKDIR
        return [this.#mode(), u32(0o22), this.#name()];
      case 12: // RENAME
      case 13: // LINK
        return [u64(this.#node(known)), this.#name(), this.#name()];
      case 45: // RENAME2
        return [
          u64(this.#node(known)),
          u32(this.#random(3) === 0 ? this.#random(8) : 0),
          pad,
          this.#name(),
          this.#name(),
        ];
      case 14: // OPEN
      case 27: // OPENDIR
      case 34: // ACCESS
        return [this.#flags(), pad];
      case 15: // READ
      case 28: // READDIR
      case 44: // READDIRPLUS
        return [this.#handle(known), this.#number(), this.#size(), pad, zero, this.#flags(), pad];
      case 16: {
        const data = this.#text();
        const size = this.#random(30) === 0 ? this.#size() : u32(data.length);
        return [this.#handle(known), this.#number(), size, u32(this.#random(4)), zero, this.#flags(), pad, data];
      }
      case 18: // RELEASE
      case 25: // FLUSH
      case 29: // RELEASEDIR
        return [this.#handle(known), this.#flags(), pad, zero];
      case 20: // FSYNC
      case 30: // FSYNCDIR
        return [this.#handle(known), u32(this.#random(2)), pad];
      case 26: // INIT
        return [u32(this.#pick([7, 7, 7, 6, 8])), u32(this.#random(60)), u32(131_072), this.#flags(), Buffer.alloc(48)];
      case 35: // CREATE
        return [this.#flags(), this.#mode(), u32(0o22), pad, this.#name()];
      case 42: // BATCH_FORGET
        return [u32(this.#random(4) === 0 ? this.#random(2 ** 32) : 1), pad, u64(this.#node(known)), this.#number()];
      case 43: // FALLOCATE
        return [this.#handle(known), this.#number(), this.#number(), u32(this.#random(3) ? 0 : this.#random(64)), pad];
      default:
        return [this.#bytes(120)];
    }
  }

  #attributes(known: Known): Buffer[] {
    const times = [this.#number(), this.#number(), this.#number()];
    const valid = this.#random(3) === 0 ? 1 << this.#random(12) : this.#random(4096);
    return [
      ...[u32(valid), u32(0), this.#handle(known), this.#number(), u64(0n), ...times],
      ...[this.#flags(), this.#flags(), this.#flags(), this.#mode(), u32(0)],
      ...[u32(this.#owner()), u32(this.#owner()), u32(0)],
    ];
  }

  #mode(): Buffer {
    return u32(this.#random(3) === 0 ? this.#random(2 ** 16) : 0o100644);
  }

  #size(): Buffer {
    return u32(this.#random(6) === 0 ? this.#random(2 ** 32) : this.#pick([0, 1, 24, 100, 4096, 131_072]));
  }

  /** Cut short, made longer, or with bytes changed; the id of the request stays. */
  #damaged(original: Buffer, unique: bigint): Message {
    const kind = this.#random(3);
    let bytes = Buffer.from(original);
    if (kind === 0) bytes = bytes.subarray(0, 1 + this.#random(bytes.length));
    else if (kind === 1) bytes = Buffer.concat([bytes, Buffer.alloc(1 + this.#random(300), this.#random(256))]);
    else {
      for (let changes = 1 + this.#random(8); changes > 0; changes--) {
        const at = this.#random(bytes.length);
        if (at < 8 || at >= 16) bytes[at] = this.#random(3) === 0 ? 0xff : this.#random(256);
      }
    }
    if (bytes.length >= 4 && this.#random(6) !== 0) bytes.writeUInt32LE(bytes.length, 0);
    const opcode = bytes.length >= 8 ? bytes.readUInt32LE(4) : 0;
    return { bytes, opcode, unique, isDamaged: true };
  }
}

/** Requests that name a handle. */
const WITH_HANDLE = new Set([3, 4, 15, 16, 18, 20, 25, 43]);

/** Every number of a request up to 7.45, those that change most several times. */
const OPCODES: readonly number[] = [
  ...Array.from({ length: 54 }, (_, index) => index),
  ...[
    1, 1, 1, 1, 4, 8, 9, 10, 12, 12, 12, 14, 14, 14, 15, 15, 15, 16, 16, 16, 16, 18, 18, 25, 25, 25, 28, 35, 35, 35, 35,
  ],
  ...[44, 45, 45, 43],
];
