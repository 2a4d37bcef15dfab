import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Channel } from '../../src/fuse/channel.js';
import type { Connection } from '../../src/fuse/init.js';
import { loadNative } from '../../src/fuse/native.js';
import { bytesOf, nameRow, type Row, requestBytes } from './annotated.js';
import { MemoryOperations } from './memory-operations.js';

// What no kernel here says is said through a socket: a channel serves any descriptor that can be polled.
const { errno } = constants;
const native = loadNative();
let kernel: number;
let channel: Channel;
let ready: Connection[];
let ended: number;

beforeEach(() => {
  const pair = native.socketPair();
  if (typeof pair === 'number') throw new Error(`errno ${-pair}`);
  const [ours, theirs] = pair;
  kernel = theirs;
  ready = [];
  ended = 0;
  channel = new Channel(native, ours, { uid: 0, gid: 0 }, new MemoryOperations({ a: 'text' }), {
    ready: (connection) => ready.push(connection),
    called: () => {},
    answering: () => {},
    ended: () => {
      ended++;
    },
  });
});

afterEach(() => {
  channel.close();
  native.closeDescriptor(kernel);
});

/** Sends one message as the kernel and gives back the answer; empty when none comes. */
async function say(message: Buffer): Promise<Buffer> {
  writeSync(kernel, message);
  await delay(20);
  const answer = Buffer.alloc(4096);
  // A look that does not wait: the socket is not watched on this side.
  const probe = native.watch(kernel, () => {});
  if (typeof probe !== 'number') native.unwatch(probe);
  const length = native.receive(kernel, answer);
  return answer.subarray(0, Math.max(0, length));
}

const init = (minor: string): Row[] => [
  ['07000000', 'major'],
  [minor, 'minor'],
  ['00000000', 'max_readahead'],
  ['00000000', 'flags'],
];
const error = (answer: Buffer): number => 0 - answer.readInt32LE(4);

test('a kernel that is too old gets an error, and the owner of the mount is told', async () => {
  expect(error(await say(requestBytes('1a', ...init('1b000000'))))).toBe(errno.EIO);
  expect({ ready, ended }).toEqual({ ready: [], ended: 1 });
  expect(await channel.notify(Buffer.alloc(16))).toBe(-errno.ENOTCONN);
});

test('a message that is not understood is answered with an error, and the next one is served', async () => {
  expect((await say(requestBytes('1a', ...init('1c000000')))).length).toBe(16 + 64);
  expect(ready.map((connection) => connection.protocol)).toEqual(['7.28']);
  const answer = await say(requestBytes('01', ['616263', 'name without its end']));
  expect(answer.toString('hex')).toBe(
    bytesOf(['10000000', 'len'], ['fbffffff', 'error: -EIO'], ['44332211 88776655', 'unique']).toString('hex'),
  );
  const lookup = requestBytes('01', nameRow('a', 'name'));
  lookup.writeBigUInt64LE(1n, 16);
  expect(error(await say(lookup))).toBe(0);
  expect(ended).toBe(0);
});

test('a message without a whole header gets no answer', async () => {
  await say(requestBytes('1a', ...init('1c000000')));
  expect((await say(Buffer.alloc(39, 1))).length).toBe(0);
  expect(ended).toBe(0);
});

test('a channel that its owner closes, even twice, is not told as ended', async () => {
  await say(requestBytes('1a', ...init('1c000000')));
  channel.close();
  channel.close();
  await delay(20);
  expect(ended).toBe(0);
});
