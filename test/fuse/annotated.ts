import type { Body } from '../../src/fuse/request.js';

/** A run of bytes in hexadecimal, as it lies in memory, and the field it is. Blanks in the bytes are ignored. */
export type Row = readonly [hex: string, field: string];

/** Puts annotated rows together. */
export function bytesOf(...rows: readonly Row[]): Buffer {
  return Buffer.concat(
    rows.map(([hex, field]) => {
      const digits = hex.replaceAll(' ', '');
      const bytes = Buffer.from(digits, 'hex');
      if (bytes.length * 2 !== digits.length) throw new Error(`${field}: not hexadecimal`);
      return bytes;
    }),
  );
}

/** A name as a row, with its terminating NUL. */
export function nameRow(name: string, field: string): Row {
  return [`${Buffer.from(name).toString('hex')} 00`, field];
}

/**
 * `struct fuse_in_header` (40 bytes) and the rows of a body; only `len` is computed.
 * @param opcode one byte in hexadecimal
 */
export function requestBytes(opcode: string, ...rows: readonly Row[]): Buffer {
  const body = bytesOf(...rows);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(40 + body.length);
  const header = bytesOf(
    [length.toString('hex'), 'len'],
    [`${opcode} 000000`, 'opcode'],
    ['44332211 88776655', 'unique'],
    ['09000000 07000000', 'nodeid: 7 * 2^32 + 9'],
    ['e8030000', 'uid: 1000'],
    ['e9030000', 'gid: 1001'],
    ['39300000', 'pid: 12345'],
    ['0000', 'total_extlen'],
    ['0000', 'padding'],
  );
  return Buffer.concat([header, body]);
}

/** What every message of `requestBytes` says in its header. */
export const headerFields = {
  uniqueLow: 0x11223344,
  uniqueHigh: 0x55667788,
  node: 7 * 2 ** 32 + 9,
  caller: { uid: 1000, gid: 1001, pid: 12345, unique: 0x55667788 * 2 ** 32 + 0x11223344, resent: false },
};

/** A small seeded generator (mulberry32): whole numbers from 0 to below `bound`. */
export function randomSource(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * bound);
  };
}

/** One request as `linux/fuse.h` (7.38) lays it out, and what it means. */
export interface Sample {
  readonly title: string;
  /** In hexadecimal. */
  readonly opcode: string;
  readonly rows: readonly Row[];
  readonly body: Body;
  /** Bytes of the body up to the end of the last field that is used; all of it by default. */
  readonly used?: number;
}
