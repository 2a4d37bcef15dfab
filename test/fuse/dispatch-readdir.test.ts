import { beforeEach, expect, test } from 'vitest';
import { type Dispatcher, dispatch, FIXED_REPLY_SIZE } from '../../src/fuse/dispatch.js';
import { WireWriter } from '../../src/fuse/encode.js';
import { MemoryOperations } from './memory-operations.js';

const owner = { uid: 0, gid: 0 };
let operations: MemoryOperations;
let replies: Buffer[];
let dispatcher: Dispatcher;

beforeEach(() => {
  operations = new MemoryOperations();
  for (let i = 0; i < 50; i++) operations.add(`${'n'.repeat(i % 20)}-${i}`, i % 5 === 0 ? 'directory' : 'file');
  replies = [];
  dispatcher = {
    operations,
    out: new WireWriter(Buffer.alloc(128 * 1024), owner),
    newWriter: () => new WireWriter(Buffer.alloc(FIXED_REPLY_SIZE), owner),
    send: (out) => replies.push(Buffer.from(out.bytes.subarray(0, out.length))),
    pending: () => {},
  };
});

interface Listed {
  readonly name: string;
  readonly type: number;
  readonly ino: number;
  readonly offset: number;
  /** Node id of the entry before the name; undefined without READDIRPLUS. */
  readonly node: number | undefined;
}

/** One READDIR, its entries walked as the kernel walks them. */
function list(offset: number, size: number, plus: boolean): Listed[] {
  dispatch(dispatcher, {
    ...{
      opcode: 0,
      uniqueLow: 9,
      uniqueHigh: 0,
      node: 1,
      caller: { pid: 1, uid: 0, gid: 0, unique: 9, resent: false },
    },
    body: { op: plus ? 'readdirplus' : 'readdir', offset, size },
  });
  const [reply = Buffer.alloc(0)] = replies.splice(0);
  expect(reply.readUInt32LE(0)).toBe(reply.length);
  expect(reply.readInt32LE(4)).toBe(0);
  expect(reply.length - 16).toBeLessThanOrEqual(size);
  const listed: Listed[] = [];
  const extra = plus ? 128 : 0;
  for (let at = 16; at < reply.length; ) {
    const dirent = at + extra;
    const length = reply.readUInt32LE(dirent + 16);
    listed.push({
      name: reply.toString('utf8', dirent + 24, dirent + 24 + length),
      type: reply.readUInt32LE(dirent + 20),
      ino: Number(reply.readBigUInt64LE(dirent)),
      offset: Number(reply.readBigUInt64LE(dirent + 8)),
      node: plus ? Number(reply.readBigUInt64LE(at)) : undefined,
    });
    const end = dirent + 24 + length;
    at = Math.ceil(end / 8) * 8;
    expect(
      reply.subarray(end, at).every((byte) => byte === 0),
      'padding',
    ).toBe(true);
  }
  return listed;
}

test.each([
  [512, false],
  [512, true],
  [4096, false],
  [4096, true],
  [1 << 20, true],
])('a listing in answers of at most %i bytes (plus: %s) has every name once, in order', (size, plus) => {
  const all: Listed[] = [];
  for (let offset = 0, rounds = 0; rounds < 200; rounds++) {
    const part = list(offset, size, plus);
    const last = part.at(-1);
    if (!last) break;
    all.push(...part);
    offset = last.offset;
  }
  const expected = [...operations.nodes.values()].slice(1);
  expect(all.map((entry) => entry.name)).toEqual(['.', '..', ...expected.map((node) => node.name)]);
  expect(all.slice(2).map((entry) => entry.type)).toEqual(expected.map((node) => (node.kind === 'directory' ? 4 : 8)));
  expect(all.slice(2).map((entry) => entry.ino)).toEqual(expected.map((node) => node.id));
  if (!plus) return;
  expect(all.slice(0, 2).map((entry) => entry.node)).toEqual([0, 0]);
  expect(all.slice(2).map((entry) => entry.node)).toEqual(expected.map((node) => node.id));
});

test('an answer goes on after any offset', () => {
  const whole = list(0, 1 << 20, false);
  expect(list(17, 1 << 20, false)).toEqual(whole.slice(17));
  expect(list(whole.length, 4096, false)).toEqual([]);
});

test('an answer after a failed one starts anew', () => {
  operations.failure = new Error('no');
  dispatch(dispatcher, {
    ...{
      opcode: 0,
      uniqueLow: 9,
      uniqueHigh: 0,
      node: 1,
      caller: { pid: 1, uid: 0, gid: 0, unique: 9, resent: false },
    },
    body: { op: 'readdir', offset: 0, size: 4096 },
  });
  expect(replies.splice(0)[0]?.length).toBe(16);
  expect(list(0, 4096, false)[0]?.name).toBe('.');
});
