import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Channel } from '../../src/fuse/channel.js';
import { loadNative } from '../../src/fuse/native.js';
import type { Errno } from '../../src/fuse/operations.js';
import { requestBytes } from './annotated.js';
import { MemoryOperations } from './memory-operations.js';

const native = loadNative();

test('closing answers the requests that still wait, each once, and their own answers go nowhere', async () => {
  const pair = native.socketPair();
  if (typeof pair === 'number') throw new Error(`errno ${-pair}`);
  const [ours, kernel] = pair;
  const operations = new MemoryOperations();
  let disk = (_: 0 | Errno): void => {};
  operations.disk = new Promise((resolve) => {
    disk = resolve;
  });
  const events = { called: () => {}, answering: () => {}, ready: () => {}, ended: () => {} };
  const channel = new Channel(native, ours, { uid: 0, gid: 0 }, operations, events);
  // The socket is not watched on this side: a look at it must not wait.
  const probe = native.watch(kernel, () => {});
  if (typeof probe === 'number') throw new Error(`errno ${-probe}`);
  const answer = Buffer.alloc(256);
  try {
    const fsync = requestBytes('14', ['00000000 00000000', 'fh'], ['00000000 00000000', 'flags, padding']);
    writeSync(kernel, fsync);
    await delay(20);
    expect(native.receive(kernel, answer)).toBe(0);
    channel.close();
    expect(native.receive(kernel, answer)).toBe(16);
    expect(answer.readInt32LE(4)).toBe(-constants.errno.ENOTCONN);
    expect(answer.toString('hex', 8, 16)).toBe(fsync.toString('hex', 8, 16));
    disk(0);
    await delay(20);
    // The other end is closed, and nothing more came.
    expect(native.receive(kernel, answer)).toBe(0);
  } finally {
    native.unwatch(probe);
    native.closeDescriptor(kernel);
  }
});
