import { constants } from 'node:os';
import { beforeEach, describe, expect, it, test } from 'vitest';
import { decodeRequest } from '../../src/fuse/decode.js';
import { type Dispatcher, dispatch, FIXED_REPLY_SIZE } from '../../src/fuse/dispatch.js';
import { WireWriter } from '../../src/fuse/encode.js';
import type { Request } from '../../src/fuse/request.js';
import { WireReader } from '../../src/fuse/wire-reader.js';
import { bytesOf, nameRow, type Row, requestBytes } from './annotated.js';
import { MemoryOperations } from './memory-operations.js';
import { samples } from './requests.js';
import { setattrSamples } from './setattr-requests.js';

const { errno } = constants;
const owner = { uid: 1000, gid: 1001 };

let operations: MemoryOperations;
let sent: Buffer[];
let waiting: Promise<unknown>[];
let dispatcher: Dispatcher;

beforeEach(() => {
  operations = new MemoryOperations({ 'MEMORY.md': 'hello, world', 'b.md': 'b' });
  sent = [];
  waiting = [];
  dispatcher = {
    operations,
    out: new WireWriter(Buffer.alloc(64 * 1024, 0xee), owner),
    newWriter: () => new WireWriter(Buffer.alloc(FIXED_REPLY_SIZE, 0xee), owner),
    send: (out, tail) => {
      const second = tail?.data.subarray(tail.start, tail.start + tail.length) ?? Buffer.alloc(0);
      sent.push(Buffer.concat([out.bytes.subarray(0, out.length), second]));
    },
    pending: (_, answer) => waiting.push(answer),
  };
});

/** Decodes and dispatches a request about `node`; answers the replies sent meanwhile. */
function ask(opcode: string, node: number, ...rows: Row[]): Buffer[] {
  const message = requestBytes(opcode, ...rows);
  message.writeBigUInt64LE(BigInt(node), 16);
  const reader = new WireReader(message);
  reader.limit(message.length);
  dispatch(dispatcher, decodeRequest(reader));
  return sent.splice(0);
}

/** Checks that there is one reply to the request of `requestBytes`; gives back its errno and payload. */
function only(replies: readonly Buffer[]): { error: number; payload: Buffer } {
  expect(replies).toHaveLength(1);
  const [reply = Buffer.alloc(0)] = replies;
  expect(reply.readUInt32LE(0)).toBe(reply.length);
  expect(reply.toString('hex', 8, 16)).toBe('4433221188776655');
  return { error: 0 - reply.readInt32LE(4), payload: reply.subarray(16) };
}

const zeros = (bytes: number, field: string): Row => ['00'.repeat(bytes), field];
const readRows = (offset: string, size: string): Row[] => [
  zeros(8, 'fh'),
  [offset, 'offset'],
  [size, 'size'],
  zeros(20, 'rest'),
];

describe('payloads', () => {
  it.each<[title: string, opcode: string, node: number, rows: Row[], bytes: number]>([
    ['LOOKUP', '01', 1, [nameRow('MEMORY.md', 'name')], 128],
    ['GETATTR', '03', 2, [zeros(16, 'body')], 104],
    ['SETATTR', '04', 2, [['20000000', 'valid: MTIME'], zeros(84, 'rest')], 104],
    ['MKNOD', '08', 1, [zeros(16, 'body'), nameRow('n', 'name')], 128],
    ['MKDIR', '09', 1, [zeros(8, 'body'), nameRow('d', 'name')], 128],
    ['OPEN', '0e', 2, [zeros(8, 'body')], 16],
    ['CREATE', '23', 1, [zeros(16, 'body'), nameRow('c', 'name')], 144],
    ['WRITE', '10', 2, [zeros(16, 'fh, offset'), ['01000000', 'size'], zeros(20, 'rest'), ['41', 'data']], 8],
    ['STATFS', '11', 1, [], 80],
    ['OPENDIR', '1b', 1, [zeros(8, 'body')], 16],
    ['UNLINK', '0a', 1, [nameRow('b.md', 'name')], 0],
    [
      'RENAME2',
      '2d',
      1,
      [['0100000000000000', 'newdir'], zeros(8, 'flags'), nameRow('b.md', 'old'), nameRow('c.md', 'new')],
      0,
    ],
    ['ACCESS', '22', 2, [['06000000', 'mask'], zeros(4, 'padding')], 0],
    ['FLUSH', '19', 2, [zeros(24, 'body')], 0],
    ['RELEASE', '12', 2, [zeros(24, 'body')], 0],
    ['FALLOCATE', '2b', 2, [zeros(16, 'fh, offset'), ['0100000000000000', 'length'], zeros(8, 'mode')], 0],
    ['RELEASEDIR', '1d', 1, [zeros(24, 'body')], 0],
    ['DESTROY', '26', 0, [], 0],
  ])('%s succeeds', (_, opcode, node, rows, bytes) => {
    const { error, payload } = only(ask(opcode, node, ...rows));
    expect(error).toBe(0);
    expect(payload).toHaveLength(bytes);
  });

  it('CREATE answers the entry and then the open file', () => {
    const { payload } = only(ask('23', 1, ['41000000', 'flags'], zeros(12, 'rest'), nameRow('new.md', 'name')));
    const id = operations.child(1, 'new.md')?.id ?? 0;
    expect(payload.readUInt32LE(0)).toBe(id);
    expect(payload.toString('hex', 128)).toBe(
      bytesOf([`0${id}000000 41000000`, 'fh'], ['01000000', 'open_flags'], ['00000000', 'padding']).toString('hex'),
    );
  });

  it('WRITE answers how much was written', () => {
    const { payload } = only(
      ask('10', 3, zeros(8, 'fh'), ['0100000000000000', 'offset'], ['03000000', 'size'], zeros(20, 'rest'), [
        '787978',
        'data',
      ]),
    );
    expect(payload.toString('hex')).toBe('03000000 00000000'.replace(' ', ''));
    expect(operations.nodes.get(3)?.bytes.toString()).toBe('bxyx');
  });

  it('hands over who asks', () => {
    ask('03', 2, zeros(16, 'body'));
    expect(operations.lastCaller).toMatchObject({ pid: 12345, uid: 1000, gid: 1001 });
  });
});

describe('READ', () => {
  it.each([
    ['0000000000000000', '00100000', 'hello, world'],
    ['0700000000000000', '03000000', 'wor'],
    ['0c00000000000000', '00100000', ''],
    ['ffffffff00000000', '00100000', ''],
  ])('from %s, at most %s bytes', (offset, size, text) => {
    const { error, payload } = only(ask('0f', 2, ...readRows(offset, size)));
    expect(error).toBe(0);
    expect(payload.toString()).toBe(text);
  });
});

describe('errors', () => {
  it('an errno that is answered', () => {
    expect(only(ask('01', 1, nameRow('none', 'name')))).toEqual({ error: errno.ENOENT, payload: Buffer.alloc(0) });
  });

  it.each([
    [Object.assign(new Error('x'), { code: 'EDQUOT' }), errno.EDQUOT],
    [new TypeError('a fault'), errno.EIO],
    ['not even an error', errno.EIO],
  ])('%s that is thrown', (thrown, expected) => {
    operations.failure = thrown;
    expect(only(ask('03', 2, zeros(16, 'body')))).toEqual({ error: expected, payload: Buffer.alloc(0) });
    expect(only(ask('03', 2, zeros(16, 'body'))).error).toBe(0);
  });

  it.each([
    ['READLINK', '05', [], errno.EINVAL],
    ['SYMLINK', '06', [nameRow('l', 'name'), nameRow('t', 'target')], errno.EPERM],
    ['LINK', '0d', [zeros(8, 'oldnodeid'), nameRow('l', 'name')], errno.EPERM],
    ['GETXATTR', '16', [zeros(8, 'body'), nameRow('user.x', 'name')], errno.ENOSYS],
    ['an opcode of the future', 'f0', [], errno.ENOSYS],
  ] as [string, string, Row[], number][])('%s is refused', (_, opcode, rows, expected) => {
    expect(only(ask(opcode, 1, ...rows)).error).toBe(expected);
  });

  it('a folder that cannot be read leaves no half of a listing in the answer', () => {
    expect(only(ask('1c', 2, ...readRows('0000000000000000', '00100000')))).toEqual({
      error: errno.ENOTDIR,
      payload: Buffer.alloc(0),
    });
  });
});

describe('answers that come later', () => {
  it('are sent when they come, without disturbing those in between', async () => {
    let done = (_: 0 | number): void => {};
    operations.disk = new Promise((resolve) => {
      done = resolve;
    });
    expect(ask('14', 2, zeros(16, 'body'))).toEqual([]);
    expect(waiting).toHaveLength(1);
    expect(only(ask('0f', 2, ...readRows('0000000000000000', '05000000'))).payload.toString()).toBe('hello');
    done(0);
    await Promise.all(waiting);
    expect(only(sent)).toEqual({ error: 0, payload: Buffer.alloc(0) });
  });

  it.each([
    ['answered', Promise.resolve(errno.EDQUOT), errno.EDQUOT],
    ['thrown', () => Promise.reject(Object.assign(new Error('disk'), { code: 'ENOSPC' })), errno.ENOSPC],
  ])('an errno %s later', async (_, disk, expected) => {
    operations.disk = typeof disk === 'function' ? disk() : disk;
    for (const opcode of ['14', '1e', '32']) {
      expect(ask(opcode, 1, zeros(16, 'body'))).toEqual([]);
      await Promise.all(waiting);
      expect(only(sent.splice(0)).error).toBe(expected);
    }
  });
});

test('FORGET, BATCH_FORGET and INTERRUPT get no reply', () => {
  expect(ask('02', 7, ['0300000000000000', 'nlookup'])).toEqual([]);
  const one: Row[] = [
    ['0700000000000000', 'nodeid'],
    ['0200000000000000', 'nlookup'],
  ];
  expect(
    ask(
      '2a',
      0,
      ['02000000', 'count'],
      zeros(4, 'dummy'),
      ...one,
      ['0900000000000000', 'nodeid'],
      ['0100000000000000', 'nlookup'],
    ),
  ).toEqual([]);
  expect(operations.forgotten).toEqual(
    new Map([
      [7, 5],
      [9, 1],
    ]),
  );
  expect(ask('24', 0, zeros(8, 'unique'))).toEqual([]);
  expect(waiting).toEqual([]);
});

test('every other request gets exactly one reply', async () => {
  for (const { opcode, rows, body, title } of [...samples, ...setattrSamples]) {
    if (body.op === 'init') continue;
    const request: Request = {
      opcode: 0,
      uniqueLow: 1,
      uniqueHigh: 2,
      node: 1,
      caller: { pid: 1, uid: 1, gid: 1, unique: 1, resent: false },
      body,
    };
    dispatch(dispatcher, request);
    await Promise.all(waiting.splice(0));
    const silent = body.op === 'forget' || body.op === 'interrupt';
    expect(sent.splice(0).length, `${title} ${opcode} ${rows.length}`).toBe(silent ? 0 : 1);
  }
});
