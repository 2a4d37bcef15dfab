import type { AttrChange } from '../../src/fuse/request.js';
import type { Row, Sample } from './annotated.js';

/** `struct fuse_setattr_in` (88 bytes) with every field filled; `valid` says which of them count. */
export function setattrRows(valid: string, changed: Readonly<Record<string, string>> = {}): Row[] {
  const fields: readonly Row[] = [
    [valid, 'valid'],
    ['00000000', 'padding'],
    ['0d0c0b0a 1d1c1b1a', 'fh'],
    ['07000000 01000000', 'size: 2^32 + 7'],
    ['ffffffffffffffff', 'lock_owner'],
    ['00e1f505 00000000', 'atime: 100,000,000 s'],
    ['ffffffff ffffffff', 'mtime: -1 s'],
    ['ffffffffffffffff', 'ctime, never used'],
    ['e7030000', 'atimensec: 999'],
    ['80b2e60e', 'mtimensec: 250,000,000'],
    ['ffffffff', 'ctimensec, never used'],
    ['a4810000', 'mode: S_IFREG 0644'],
    ['00000000', 'unused4'],
    ['e8030000', 'uid: 1000'],
    ['ffffffff', 'gid: 2^32 - 1'],
    ['00000000', 'unused5'],
  ];
  return fields.map(([hex, field]) => [changed[field.split(':')[0] ?? ''] ?? hex, field] as const);
}

function sample(title: string, valid: string, change: AttrChange, changed?: Readonly<Record<string, string>>): Sample {
  return {
    title: `SETATTR ${title}`,
    opcode: '04',
    rows: setattrRows(valid, changed),
    body: { op: 'setattr', change },
  };
}

const fh = { low: 0x0a0b0c0d, high: 0x1a1b1c1d };

/** SETATTR with each FATTR bit, alone and together. */
export const setattrSamples: readonly Sample[] = [
  sample('of nothing', '00000000', {}),
  sample('MODE', '01000000', { mode: 0o100644 }),
  sample('UID', '02000000', { uid: 1000 }),
  sample('GID', '04000000', { gid: 2 ** 32 - 1 }),
  sample('SIZE', '08000000', { size: 2 ** 32 + 7 }),
  sample('ATIME, below a microsecond', '10000000', { atime: 100_000_000_000_000 }),
  sample('MTIME before 1970', '20000000', { mtime: -750_000 }),
  sample(
    'MTIME of 1901',
    '20000000',
    { mtime: -2_147_483_648_000_000 + 1 },
    {
      mtime: '00000080 ffffffff',
      mtimensec: 'e8030000',
    },
  ),
  sample(
    'MTIME after 2038',
    '20000000',
    { mtime: 4_294_967_296_999_999 },
    { mtime: '00000000 01000000', mtimensec: 'ffc99a3b' },
  ),
  sample('FH', '40000000', { fh }),
  sample('ATIME_NOW', '90000000', { atime: 'now' }),
  sample('MTIME_NOW', '20010000', { mtime: 'now' }),
  sample('ATIME_NOW without ATIME', '80000000', {}),
  sample('LOCKOWNER, CTIME and KILL_SUIDGID, which change nothing here', '000e0000', {}),
  sample('of everything', '7f0e0000', {
    ...{ mode: 0o100644, uid: 1000, gid: 2 ** 32 - 1, size: 2 ** 32 + 7, fh },
    ...{ atime: 100_000_000_000_000, mtime: -750_000 },
  }),
];
