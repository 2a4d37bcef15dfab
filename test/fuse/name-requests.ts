import { nameRow, type Row, type Sample } from './annotated.js';

const padding: Row = ['00000000', 'padding'];

/** The requests that name a file: LOOKUP, CREATE, RENAME and their like. */
export const nameSamples: readonly Sample[] = [
  { title: 'LOOKUP', opcode: '01', rows: [nameRow('MEMORY.md', 'name')], body: { op: 'lookup', name: 'MEMORY.md' } },
  { title: 'UNLINK', opcode: '0a', rows: [nameRow('ä☃😀.md', 'name')], body: { op: 'unlink', name: 'ä☃😀.md' } },
  { title: 'RMDIR', opcode: '0b', rows: [nameRow('d', 'name')], body: { op: 'rmdir', name: 'd' } },
  {
    title: 'LOOKUP of bytes that are not UTF-8',
    opcode: '01',
    rows: [['61 ff 62 00', 'name: a, 0xff, b']],
    body: { op: 'lookup', name: null },
  },
  {
    title: 'LOOKUP of a surrogate in UTF-8 form',
    opcode: '01',
    rows: [['ed a0 80 00', 'name: U+D800']],
    body: { op: 'lookup', name: null },
  },
  {
    title: 'SYMLINK',
    opcode: '06',
    rows: [nameRow('link', 'name'), nameRow('/target', 'target')],
    body: { op: 'symlink', name: 'link' },
    used: 5,
  },
  {
    title: 'LINK',
    opcode: '0d',
    rows: [['2a00000000000000', 'oldnodeid'], nameRow('hard', 'newname')],
    body: { op: 'link', name: 'hard' },
  },
  {
    title: 'MKNOD',
    opcode: '08',
    rows: [
      ['a4810000', 'mode: S_IFREG 0644'],
      ['00000000', 'rdev'],
      ['12000000', 'umask'],
      padding,
      nameRow('n', 'name'),
    ],
    body: { op: 'mknod', mode: 0o100644, name: 'n' },
  },
  {
    title: 'MKDIR',
    opcode: '09',
    rows: [['ed010000', 'mode: 0755'], ['12000000', 'umask'], nameRow('sub', 'name')],
    body: { op: 'mkdir', name: 'sub' },
  },
  {
    title: 'CREATE',
    opcode: '23',
    rows: [
      ['c1800000', 'flags: O_WRONLY|O_CREAT|O_EXCL|O_LARGEFILE'],
      ['a4810000', 'mode'],
      ['12000000', 'umask'],
      ['00000000', 'open_flags'],
      nameRow('note.md', 'name'),
    ],
    body: { op: 'create', flags: 0x80c1, name: 'note.md' },
  },
  {
    title: 'RENAME',
    opcode: '0c',
    rows: [['05000000 02000000', 'newdir'], nameRow('old', 'oldname'), nameRow('new', 'newname')],
    body: { op: 'rename', name: 'old', newParent: 2 * 2 ** 32 + 5, newName: 'new', flags: 0 },
  },
  {
    title: 'RENAME2',
    opcode: '2d',
    rows: [
      ['0500000000000000', 'newdir'],
      ['01000000', 'flags: RENAME_NOREPLACE'],
      padding,
      nameRow('a', 'oldname'),
      ['c3 28 00', 'newname, not UTF-8'],
    ],
    body: { op: 'rename', name: 'a', newParent: 5, newName: null, flags: 1 },
  },
];
