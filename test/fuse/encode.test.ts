import { beforeEach, describe, expect, it, test } from 'vitest';
import { WireWriter } from '../../src/fuse/encode.js';
import { incrementEpoch, invalidateAttributes, invalidateEntry } from '../../src/fuse/notifications.js';
import type { Attr, EntryReply } from '../../src/fuse/reply.js';
import { bytesOf, type Row } from './annotated.js';

let out: WireWriter;

beforeEach(() => {
  // Left-over bytes of the reply before must never show.
  out = new WireWriter(Buffer.alloc(4096, 0xee), { uid: 1000, gid: 1001 });
  out.begin();
});

/** What was written after the header, in hexadecimal. */
const payload = (): string => out.bytes.toString('hex', 16, out.length);
const hex = (...rows: Row[]): string => bytesOf(...rows).toString('hex');

const file: Attr = {
  ...{ ino: 2 ** 33 + 1, kind: 'file', size: 2 ** 32 + 1, nlink: 1 },
  ...{ atime: 1_000_000_000_000_001, mtime: 1_700_000_000_123_456, ctime: 0 },
};
const fileRows: readonly Row[] = [
  ['01000000 02000000', 'ino'],
  ['01000000 01000000', 'size: 2^32 + 1'],
  ['08008000 00000000', 'blocks of 512 bytes: (2^20 + 1) * 8'],
  ['00ca9a3b 00000000', 'atime: 1,000,000,000'],
  ['00f15365 00000000', 'mtime: 1,700,000,000'],
  ['0000000000000000', 'ctime'],
  ['e8030000', 'atimensec: 1,000'],
  ['00ca5b07', 'mtimensec: 123,456,000'],
  ['00000000', 'ctimensec'],
  ['80810000', 'mode: S_IFREG 0600'],
  ['01000000', 'nlink'],
  ['e8030000', 'uid'],
  ['e9030000', 'gid'],
  ['00000000', 'rdev'],
  ['00100000', 'blksize'],
  ['00000000', 'flags'],
];
const entry: EntryReply = { node: 2 ** 33 + 1, entryValid: 2 ** 32, attrValid: 60, attr: file };
const entryRows: readonly Row[] = [
  ['01000000 02000000', 'nodeid'],
  ['0000000000000000', 'generation'],
  ['00000000 01000000', 'entry_valid'],
  ['3c00000000000000', 'attr_valid'],
  ['00000000', 'entry_valid_nsec'],
  ['00000000', 'attr_valid_nsec'],
  ...fileRows,
];

describe('replies, byte for byte', () => {
  it('fuse_out_header of an answer with a second part', () => {
    out.u32(5);
    out.finish(0x11223344, 0x55667788, 0, 7);
    expect(out.bytes.toString('hex', 0, out.length)).toBe(
      hex(
        ['1b000000', 'len: 16 + 4 + 7'],
        ['00000000', 'error'],
        ['44332211 88776655', 'unique'],
        ['05000000', 'payload'],
      ),
    );
  });

  it('fuse_out_header of an error', () => {
    out.finish(1, 0x80000000, 2);
    expect(out.bytes.toString('hex', 0, out.length)).toBe(
      hex(['10000000', 'len'], ['feffffff', 'error: -ENOENT'], ['01000000 00000080', 'unique, resend bit']),
    );
  });

  it('fuse_attr of a file', () => {
    out.attr(file);
    expect(payload()).toBe(hex(...fileRows));
  });

  it('fuse_attr of a folder, with times before 1970 and after 2106', () => {
    out.attr({
      ino: 1,
      kind: 'directory',
      size: 0,
      nlink: 3,
      atime: -1,
      mtime: -1_500_000,
      ctime: 4_294_967_297_000_000,
    });
    expect(payload()).toBe(
      hex(
        ['0100000000000000', 'ino'],
        ['00'.repeat(16), 'size, blocks'],
        ['ffffffff ffffffff', 'atime: -1'],
        ['feffffff ffffffff', 'mtime: -2'],
        ['01000000 01000000', 'ctime: 2^32 + 1'],
        ['18c69a3b', 'atimensec: 999,999,000'],
        ['0065cd1d', 'mtimensec: 500,000,000'],
        ['00000000', 'ctimensec'],
        ['c0410000', 'mode: S_IFDIR 0700'],
        ['03000000', 'nlink'],
        ['e8030000 e9030000', 'uid, gid'],
        ['00000000', 'rdev'],
        ['00100000', 'blksize'],
        ['00000000', 'flags'],
      ),
    );
  });

  it('fuse_attr_out', () => {
    out.attrOut({ attrValid: 1, attr: file });
    expect(payload()).toBe(
      hex(['0100000000000000', 'attr_valid'], ['00000000', 'attr_valid_nsec'], ['00000000', 'dummy'], ...fileRows),
    );
  });

  it('fuse_entry_out', () => {
    out.entryOut(entry);
    expect(payload()).toBe(hex(...entryRows));
  });

  it('fuse_open_out', () => {
    out.openOut({ fhHigh: 0x80000001, fhLow: 0xfffffffe, openFlags: 1 });
    expect(payload()).toBe(
      hex(['feffffff 01000080', 'fh'], ['01000000', 'open_flags: FOPEN_DIRECT_IO'], ['00000000', 'padding']),
    );
  });

  it('fuse_statfs_out', () => {
    out.statfsOut({ bsize: 4096, blocks: 8192, bfree: 8191, files: 2000, ffree: 1999, namelen: 255 });
    expect(payload()).toBe(
      hex(
        ['0020000000000000', 'blocks'],
        ['ff1f000000000000', 'bfree'],
        ['ff1f000000000000', 'bavail'],
        ['d007000000000000', 'files'],
        ['cf07000000000000', 'ffree'],
        ['00100000', 'bsize'],
        ['ff000000', 'namelen'],
        ['00100000', 'frsize'],
        ['00000000', 'padding'],
        ['00'.repeat(24), 'spare'],
      ),
    );
  });
});

describe('directory entries', () => {
  const direntRows: readonly Row[] = [
    ['0700000000000000', 'ino'],
    ['0300000000000000', 'off'],
    ['04000000', 'namelen: bytes, not characters'],
    ['08000000', 'type: DT_REG'],
    ['f09f9880', 'name'],
    ['00000000', 'padding to 8 bytes'],
  ];
  const plain = { name: '😀', offset: 3, kind: 'file', ino: 7 } as const;

  it('fuse_dirent', () => {
    expect(out.directoryEntry(plain, false, 4096)).toBe(true);
    expect(payload()).toBe(hex(...direntRows));
  });

  it('fuse_direntplus', () => {
    expect(out.directoryEntry({ ...plain, entry }, true, 4096)).toBe(true);
    expect(payload()).toBe(hex(...entryRows, ...direntRows));
  });

  it('fuse_direntplus without an entry is a zeroed one, which the kernel passes over', () => {
    expect(out.directoryEntry({ name: '.', offset: 1, kind: 'directory', ino: 1 }, true, 4096)).toBe(true);
    expect(payload()).toBe(
      hex(
        ['00'.repeat(128), 'entry_out'],
        ['0100000000000000', 'ino'],
        ['0100000000000000', 'off'],
        ['01000000', 'namelen'],
        ['04000000', 'type: DT_DIR'],
        ['2e 00000000000000', 'name, padding'],
      ),
    );
  });

  it('a name of a whole number of words gets no padding', () => {
    expect(out.directoryEntry({ ...plain, name: '12345678' }, false, 32)).toBe(true);
    expect(out.length).toBe(16 + 32);
  });

  it('writes nothing beyond the room that the kernel gave', () => {
    const size = 24 + 8;
    expect(out.directoryEntry(plain, false, size - 1)).toBe(false);
    expect(out.length).toBe(16);
    expect(out.directoryEntry(plain, false, 2 * size - 1)).toBe(true);
    expect(out.directoryEntry(plain, false, 2 * size - 1)).toBe(false);
    expect(out.length).toBe(16 + size);
    expect(out.directoryEntry(plain, false, 2 * size)).toBe(true);
  });

  it('writes nothing beyond the buffer, however much room the kernel gave', () => {
    let written = 0;
    while (out.directoryEntry({ ...plain, entry }, true, 1 << 20)) written++;
    expect(written).toBe(Math.floor((4096 - 16) / (128 + 32)));
    expect(out.length).toBe(16 + written * 160);
  });
});

describe('notifications, byte for byte', () => {
  test('FUSE_NOTIFY_INVAL_INODE of the attributes alone', () => {
    expect(invalidateAttributes(2 ** 40 + 5).toString('hex')).toBe(
      hex(
        ['28000000', 'len'],
        ['02000000', 'error: FUSE_NOTIFY_INVAL_INODE'],
        ['0000000000000000', 'unique: 0, not an answer'],
        ['05000000 00010000', 'ino'],
        ['ffffffffffffffff', 'off: -1, no pages'],
        ['0000000000000000', 'len'],
      ),
    );
  });

  test('FUSE_NOTIFY_INVAL_ENTRY', () => {
    expect(invalidateEntry(9, 'é.md').toString('hex')).toBe(
      hex(
        ['26000000', 'len'],
        ['03000000', 'error: FUSE_NOTIFY_INVAL_ENTRY'],
        ['0000000000000000', 'unique'],
        ['0900000000000000', 'parent'],
        ['05000000', 'namelen, in bytes and without the NUL'],
        ['00000000', 'flags'],
        ['c3a92e6d64 00', 'name'],
      ),
    );
  });

  test('FUSE_NOTIFY_INC_EPOCH', () => {
    expect(incrementEpoch().toString('hex')).toBe(
      hex(['10000000', 'len'], ['08000000', 'error: FUSE_NOTIFY_INC_EPOCH'], ['00'.repeat(8), 'unique']),
    );
  });
});
