import { describe, expect, it } from 'vitest';
import { WireWriter } from '../../src/fuse/encode.js';
import { encodeInit, negotiate } from '../../src/fuse/init.js';
import { ProtocolError } from '../../src/fuse/protocol-error.js';
import type { InitIn } from '../../src/fuse/request.js';
import { bytesOf } from './annotated.js';

const bit = (number: number): bigint => 1n << BigInt(number);
const ALL = (1n << 64n) - 1n;

function offer(minor: number, flags: bigint, major = 7): InitIn {
  return { op: 'init', major, minor, maxReadahead: 0x20000, flags };
}

describe('negotiation', () => {
  it.each([
    [6, 40],
    [7, 0],
    [7, 27],
    [8, 0],
  ])('refuses protocol %i.%i', (major, minor) => {
    expect(() => negotiate(offer(minor, ALL, major))).toThrow(ProtocolError);
  });

  it('takes the oldest kernel that has every struct', () => {
    const connection = negotiate(offer(28, 0n));
    expect(connection).toEqual({
      ...{ protocol: '7.28', minor: 28, flags: 0n, maxReadahead: 0x20000 },
      ...{ resend: false, epoch: false, requestTimeout: false },
    });
  });

  it('answers its own minor version to a newer kernel', () => {
    const connection = negotiate(offer(99, ALL));
    expect(connection.protocol).toBe('7.99');
    expect(connection.minor).toBe(45);
  });

  it('chooses what it uses and nothing else of what is offered', () => {
    // ASYNC_READ, ATOMIC_O_TRUNC, BIG_WRITES, DO_READDIRPLUS, PARALLEL_DIROPS, MAX_PAGES, INIT_EXT, HAS_RESEND, REQUEST_TIMEOUT
    const wanted = [0, 3, 5, 13, 18, 22, 30, 39, 42].reduce((set, number) => set | bit(number), 0n);
    expect(negotiate(offer(45, ALL)).flags).toBe(wanted);
    expect(negotiate(offer(45, bit(5) | bit(16) | bit(19))).flags).toBe(bit(5));
  });

  it('leaves the page cache of writes, POSIX locks and privilege bits to the kernel', () => {
    const { flags } = negotiate(offer(45, ALL));
    // POSIX_LOCKS, DONT_MASK, FLOCK_LOCKS, AUTO_INVAL_DATA, WRITEBACK_CACHE, HANDLE_KILLPRIV, HANDLE_KILLPRIV_V2
    for (const number of [1, 6, 10, 12, 16, 19, 28]) expect(flags & bit(number), `bit ${number}`).toBe(0n);
  });

  it.each([
    [43, false],
    [44, true],
    [45, true],
  ])('minor %i can drop every name at once: %s', (minor, epoch) => {
    expect(negotiate(offer(minor, ALL)).epoch).toBe(epoch);
  });

  it.each([
    ['resend', 39],
    ['requestTimeout', 42],
  ] as const)('%s follows from bit %i', (field, number) => {
    expect(negotiate(offer(45, ALL))[field]).toBe(true);
    expect(negotiate(offer(45, ALL & ~bit(number)))[field]).toBe(false);
  });
});

describe('fuse_init_out', () => {
  const encode = (input: InitIn): string => {
    const out = new WireWriter(Buffer.alloc(128, 0xee), { uid: 0, gid: 0 });
    out.begin();
    encodeInit(out, negotiate(input));
    return out.bytes.toString('hex', 16, out.length);
  };

  it('is 64 bytes for a new kernel', () => {
    expect(encode(offer(50, ALL))).toBe(
      bytesOf(
        ['07000000', 'major'],
        ['2d000000', 'minor: 45'],
        ['00000200', 'max_readahead'],
        ['29204440', 'flags: bits 0, 3, 5, 13, 18, 22, 30'],
        ['0010', 'max_background: 4096'],
        ['000c', 'congestion_threshold: 3072'],
        ['00001000', 'max_write: 1 MiB'],
        ['e8030000', 'time_gran: 1000 ns'],
        ['0001', 'max_pages: 256'],
        ['0000', 'map_alignment'],
        ['80040000', 'flags2: bits 39, 42'],
        ['00000000', 'max_stack_depth'],
        ['7800', 'request_timeout: 120 s'],
        ['00'.repeat(22), 'unused'],
      ).toString('hex'),
    );
  });

  it('asks nothing of an old kernel that it does not have', () => {
    expect(encode(offer(31, bit(0) | bit(22)))).toBe(
      bytesOf(
        ['07000000 1f000000', 'major, minor: 31'],
        ['00000200', 'max_readahead'],
        ['01004000', 'flags: bits 0, 22'],
        ['0010 000c', 'max_background, congestion_threshold'],
        ['00001000 e8030000', 'max_write, time_gran'],
        ['0001 0000', 'max_pages, map_alignment'],
        ['00'.repeat(32), 'flags2, max_stack_depth, request_timeout, unused'],
      ).toString('hex'),
    );
  });
});
