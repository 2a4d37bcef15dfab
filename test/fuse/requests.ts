import { nameRow, type Row, type Sample } from './annotated.js';
import { nameSamples } from './name-requests.js';

const fhRow: Row = ['0d0c0b0a 1d1c1b1a', 'fh'];
const fh = { low: 0x0a0b0c0d, high: 0x1a1b1c1d };
const lockOwner: Row = ['ffffffffffffffff', 'lock_owner'];
const padding: Row = ['00000000', 'padding'];
/** 2^32 + 16: more than 32 bits hold. */
const farOffset: Row = ['10000000 01000000', 'offset'];
const FAR = 2 ** 32 + 16;

const open: readonly Sample[] = [
  {
    title: 'OPEN',
    opcode: '0e',
    rows: [
      ['02840000', 'flags: O_RDWR|O_APPEND|O_LARGEFILE'],
      ['00000000', 'open_flags'],
    ],
    body: { op: 'open', flags: 0x8402 },
    used: 4,
  },
  {
    title: 'READ',
    opcode: '0f',
    rows: [
      fhRow,
      farOffset,
      ['00100000', 'size: 4096'],
      ['00000000', 'read_flags'],
      lockOwner,
      ['00800000', 'flags'],
      padding,
    ],
    body: { op: 'read', fh, offset: FAR, size: 4096 },
    used: 20,
  },
  {
    title: 'WRITE',
    opcode: '10',
    rows: [
      fhRow,
      farOffset,
      ['03000000', 'size'],
      ['02000000', 'write_flags: FUSE_WRITE_LOCKOWNER'],
      lockOwner,
      ['01840000', 'flags: O_WRONLY|O_APPEND|O_LARGEFILE'],
      padding,
      ['61 00 ff', 'data'],
    ],
    body: { op: 'write', fh, offset: FAR, data: Buffer.from([0x61, 0, 0xff]), fromCache: false, flags: 0x8401 },
  },
  {
    title: 'WRITE of nothing, from the page cache',
    opcode: '10',
    rows: [
      fhRow,
      ['ffffffff ffff1f00', 'offset: 2^53 - 1'],
      ['00000000', 'size'],
      ['01000000', 'write_flags: FUSE_WRITE_CACHE'],
      lockOwner,
      ['02000000', 'flags'],
      padding,
    ],
    body: { op: 'write', fh, offset: 2 ** 53 - 1, data: Buffer.alloc(0), fromCache: true, flags: 2 },
  },
  {
    title: 'FLUSH',
    opcode: '19',
    rows: [fhRow, ['00000000', 'unused'], padding, lockOwner],
    body: { op: 'flush', fh },
    used: 8,
  },
  {
    title: 'RELEASE',
    opcode: '12',
    rows: [fhRow, ['01000000', 'flags'], ['00000000', 'release_flags'], lockOwner],
    body: { op: 'release', fh },
    used: 8,
  },
  {
    title: 'FSYNC',
    opcode: '14',
    rows: [fhRow, ['01000000', 'fsync_flags: FUSE_FSYNC_FDATASYNC'], padding],
    body: { op: 'fsync', fh },
    used: 8,
  },
  {
    title: 'FALLOCATE',
    opcode: '2b',
    rows: [fhRow, farOffset, ['00200000 00000000', 'length'], ['03000000', 'mode: KEEP_SIZE|PUNCH_HOLE'], padding],
    body: { op: 'fallocate', fh, offset: FAR, length: 8192, mode: 3 },
    used: 28,
  },
  {
    title: 'READDIR',
    opcode: '1c',
    rows: [
      fhRow,
      ['0200000000000000', 'offset'],
      ['00800000', 'size'],
      ['00000000', 'read_flags'],
      lockOwner,
      ['00000000', 'flags'],
      padding,
    ],
    body: { op: 'readdir', offset: 2, size: 32768 },
    used: 20,
  },
  {
    title: 'READDIRPLUS',
    opcode: '2c',
    rows: [
      fhRow,
      farOffset,
      ['00100000', 'size'],
      ['00000000', 'read_flags'],
      lockOwner,
      ['00000000', 'flags'],
      padding,
    ],
    body: { op: 'readdirplus', offset: FAR, size: 4096 },
    used: 20,
  },
];

const bare: readonly Sample[] = [
  {
    title: 'GETATTR',
    opcode: '03',
    rows: [['01000000', 'getattr_flags: FUSE_GETATTR_FH'], ['00000000', 'dummy'], fhRow],
    body: { op: 'getattr' },
    used: 0,
  },
  { title: 'READLINK', opcode: '05', rows: [], body: { op: 'readlink' } },
  { title: 'STATFS', opcode: '11', rows: [], body: { op: 'statfs' } },
  {
    title: 'OPENDIR',
    opcode: '1b',
    rows: [
      ['00880100', 'flags'],
      ['00000000', 'open_flags'],
    ],
    body: { op: 'opendir' },
    used: 0,
  },
  {
    title: 'RELEASEDIR',
    opcode: '1d',
    rows: [fhRow, ['00000000', 'flags'], ['00000000', 'release_flags'], lockOwner],
    body: { op: 'releasedir' },
    used: 0,
  },
  {
    title: 'FSYNCDIR',
    opcode: '1e',
    rows: [fhRow, ['00000000', 'fsync_flags'], padding],
    body: { op: 'fsyncdir' },
    used: 0,
  },
  { title: 'INTERRUPT', opcode: '24', rows: [['44332211 88776655', 'unique']], body: { op: 'interrupt' }, used: 0 },
  { title: 'SYNCFS', opcode: '32', rows: [['0000000000000000', 'padding']], body: { op: 'syncfs' }, used: 0 },
  { title: 'DESTROY', opcode: '26', rows: [], body: { op: 'destroy' } },
  { title: 'ACCESS', opcode: '22', rows: [['07000000', 'mask'], padding], body: { op: 'access', mask: 7 }, used: 4 },
  {
    title: 'GETXATTR',
    opcode: '16',
    rows: [['00000000', 'size'], padding, nameRow('user.x', 'name')],
    body: { op: 'unknown' },
    used: 0,
  },
  { title: 'an opcode of the future', opcode: 'f0', rows: [['01', 'anything']], body: { op: 'unknown' }, used: 0 },
  { title: 'opcode 0', opcode: '00', rows: [], body: { op: 'unknown' } },
];

const forgets: readonly Sample[] = [
  {
    title: 'FORGET',
    opcode: '02',
    rows: [['03000000 00000000', 'nlookup']],
    body: { op: 'forget', list: [{ node: 7 * 2 ** 32 + 9, count: 3 }] },
  },
  {
    title: 'BATCH_FORGET',
    opcode: '2a',
    rows: [
      ['02000000', 'count'],
      ['00000000', 'dummy'],
      ['0504000000000000', 'nodeid'],
      ['0100000000000000', 'nlookup'],
      ['06000000 01000000', 'nodeid'],
      ['00000000 01000000', 'nlookup'],
    ],
    body: {
      op: 'forget',
      list: [
        { node: 0x405, count: 1 },
        { node: 2 ** 32 + 6, count: 2 ** 32 },
      ],
    },
  },
  {
    title: 'BATCH_FORGET of none',
    opcode: '2a',
    rows: [
      ['00000000', 'count'],
      ['00000000', 'dummy'],
    ],
    body: { op: 'forget', list: [] },
  },
];

const init: readonly Sample[] = [
  {
    title: 'INIT of a kernel before 7.36',
    opcode: '1a',
    rows: [
      ['07000000', 'major'],
      ['1c000000', 'minor: 28'],
      ['00000200', 'max_readahead'],
      ['fbffff03', 'flags'],
    ],
    body: { op: 'init', major: 7, minor: 28, maxReadahead: 0x20000, flags: 0x03fffffbn },
  },
  {
    title: 'INIT with flags2',
    opcode: '1a',
    rows: [
      ['07000000', 'major'],
      ['2d000000', 'minor: 45'],
      ['00000200', 'max_readahead'],
      ['fbffff73', 'flags, FUSE_INIT_EXT among them'],
      ['80040000', 'flags2: HAS_RESEND (39), REQUEST_TIMEOUT (42)'],
      ['00'.repeat(44), 'unused'],
    ],
    body: { op: 'init', major: 7, minor: 45, maxReadahead: 0x20000, flags: 0x480_73fffffbn },
    used: 16,
  },
  {
    title: 'INIT without FUSE_INIT_EXT, where flags2 means nothing',
    opcode: '1a',
    rows: [
      ['07000000', 'major'],
      ['26000000', 'minor: 38'],
      ['00100000', 'max_readahead'],
      ['01000000', 'flags'],
      ['ffffffff', 'flags2'],
      ['00'.repeat(44), 'unused'],
    ],
    body: { op: 'init', major: 7, minor: 38, maxReadahead: 4096, flags: 1n },
    used: 16,
  },
];

/** Every kind of request but SETATTR, which has a table of its own. */
export const samples: readonly Sample[] = [...nameSamples, ...open, ...bare, ...forgets, ...init];
