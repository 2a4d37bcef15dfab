import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it, test } from 'vitest';
import { loadNative, type NativeChannel } from '../../src/fuse/native.js';

const { errno } = constants;
const native = loadNative();
let ours: number;
let theirs: number;

beforeEach(() => {
  const pair = native.socketPair();
  if (typeof pair === 'number') throw new Error(`errno ${-pair}`);
  [ours, theirs] = pair;
});

afterEach(() => {
  native.closeDescriptor(ours);
  native.closeDescriptor(theirs);
});

function watch(onReadable: (status: number) => void): NativeChannel {
  const channel = native.watch(ours, onReadable);
  if (typeof channel === 'number') throw new Error(`errno ${-channel}`);
  return channel;
}

describe('receiveDescriptor', () => {
  it('a socket where nothing came', () => expect(native.receiveDescriptor(ours)).toBe(-errno.EAGAIN));

  it('a message without a descriptor', () => {
    writeSync(theirs, 'x');
    expect(native.receiveDescriptor(ours)).toBe(-errno.ENOMSG);
  });

  it('a socket whose other end is gone', () => {
    native.closeDescriptor(theirs);
    expect(native.receiveDescriptor(ours)).toBe(-errno.ENOMSG);
  });

  it('no socket', () => {
    const fd = openSync('/dev/zero', 'r');
    expect(native.receiveDescriptor(fd)).toBe(-errno.ENOTSOCK);
    closeSync(fd);
    expect(native.receiveDescriptor(-1)).toBe(-errno.EBADF);
  });
});

describe('lockFile', () => {
  it('is exclusive between two open files, and ends with the descriptor', () => {
    const file = join(mkdtempSync(join(inject('runFolder'), 'lock-')), 'lock');
    const [first, second] = [openSync(file, 'w'), openSync(file, 'w')];
    expect(native.lockFile(first)).toBe(0);
    expect(native.lockFile(first)).toBe(0);
    expect(native.lockFile(second)).toBe(-errno.EWOULDBLOCK);
    closeSync(first);
    expect(native.lockFile(second)).toBe(0);
    closeSync(second);
    expect(native.lockFile(-1)).toBe(-errno.EBADF);
  });
});

describe('receive and send', () => {
  it('give one message, 0 for none, and the errno of a failure', () => {
    const channel = watch(() => {});
    const buffer = Buffer.alloc(64);
    expect(native.receive(ours, buffer)).toBe(0);
    writeSync(theirs, 'hello');
    expect(native.receive(ours, buffer)).toBe(5);
    expect(buffer.toString('utf8', 0, 5)).toBe('hello');
    expect(native.receive(ours, buffer)).toBe(0);
    expect(native.receive(-1, buffer)).toBe(-errno.EBADF);
    native.unwatch(channel);
  });

  it('gather both parts into one write', () => {
    const buffer = Buffer.alloc(64);
    const [head, tail] = [Buffer.from('head..'), Buffer.from('..tail..')];
    expect(native.send(theirs, head, 4)).toBe(0);
    expect(native.send(theirs, head, 4, tail, 2, 4)).toBe(0);
    expect(native.send(theirs, head, 4, tail, 8, 0)).toBe(0);
    expect(buffer.toString('utf8', 0, readSync(ours, buffer))).toBe('headheadtailhead');
    expect(native.send(-1, head, 4)).toBe(-errno.EBADF);
  });

  it.each([
    [7, 0, 0],
    [-1, 0, 0],
    [4, 5, 4],
    [4, 9, 1],
    [4, -1, 1],
    [4, 0, 2 ** 40],
  ])('refuse parts beyond their buffers: head of %i bytes, tail at %i of %i', (headLength, offset, length) => {
    expect(native.send(theirs, Buffer.alloc(6), headLength, Buffer.alloc(8), offset, length)).toBe(-errno.EINVAL);
  });
});

describe('channels', () => {
  it('tell when there is something to read, until unwatched', async () => {
    let calls = 0;
    let channel: NativeChannel | undefined;
    await new Promise<void>((resolve) => {
      channel = watch((status) => {
        expect(status).toBe(0);
        calls++;
        native.receive(ours, Buffer.alloc(8));
        resolve();
      });
      writeSync(theirs, 'x');
    });
    if (channel) native.unwatch(channel);
    writeSync(theirs, 'x');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(calls).toBe(1);
  });

  it('a notification is written as it was when it was given', async () => {
    const channel = watch(() => {});
    const message = Buffer.from('notice');
    const done = new Promise<number>((resolve) => expect(native.notify(channel, message, resolve)).toBe(0));
    message.fill('x');
    expect(await done).toBe(0);
    const buffer = Buffer.alloc(8);
    expect(buffer.toString('utf8', 0, readSync(theirs, buffer))).toBe('notice');
    native.closeDescriptor(theirs);
    expect(await new Promise((resolve) => native.notify(channel, message, resolve))).toBe(-errno.EPIPE);
    native.unwatch(channel);
  });

  it('every notification is answered once, by unwatch at the latest', () => {
    const channel = watch(() => {});
    const results: number[] = [];
    for (let i = 0; i < 200; i++) native.notify(channel, Buffer.from('n'), (result) => results.push(result));
    native.unwatch(channel);
    expect(results).toHaveLength(200);
    expect(results.filter((result) => result !== 0 && result !== -errno.ECANCELED)).toEqual([]);
  });

  it('every notification is answered once, also when the callback of one unwatches', async () => {
    const channel = watch(() => {});
    const results: number[] = [];
    let atUnwatch: number | undefined;
    await new Promise<void>((resolve) => {
      for (let i = 0; i < 200; i++) {
        native.notify(channel, Buffer.from('n'), (result) => {
          results.push(result);
          if (results.length !== 1) return;
          native.unwatch(channel);
          atUnwatch = results.length;
          resolve();
        });
      }
      // All are written before the loop gets to tell of the first.
      for (let read = 0; read < 200; ) read += readSync(theirs, Buffer.alloc(200));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    });
    expect(atUnwatch).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(results).toHaveLength(200);
  });

  it('what cannot be polled is refused', () => {
    const file = join(mkdtempSync(join(inject('runFolder'), 'poll-')), 'file');
    writeFileSync(file, '');
    const fd = openSync(file, 'r');
    expect(native.watch(fd, () => {})).toBe(-errno.EPERM);
    closeSync(fd);
    expect(native.watch(-1, () => {})).toBe(-errno.EBADF);
  });
});

test('wrong arguments throw and leave nothing behind', () => {
  const channel = watch(() => {});
  const call = native as unknown as Record<string, (...args: unknown[]) => unknown>;
  const buffer = Buffer.alloc(4);
  const wrong: [string, unknown[]][] = [
    ...['receiveDescriptor', 'closeDescriptor', 'lockFile', 'shareLock'].flatMap((name): [string, unknown[]][] => [
      [name, []],
      [name, ['3']],
    ]),
    ['receive', []],
    ['receive', [ours]],
    ['receive', [ours, 'text']],
    ['receive', [ours, null]],
    ['receive', ['3', buffer]],
    ['send', [ours]],
    ['send', [ours, {}, 0]],
    ['send', [ours, buffer, 1, 'tail', 0, 1]],
    ['send', [ours, buffer, 1, undefined, 0, 1]],
    ['watch', []],
    ['watch', [ours]],
    ['watch', [ours, 5]],
    ['unwatch', []],
    ['unwatch', [{}]],
    ['notify', [channel]],
    ['notify', [channel, 'text', () => {}]],
    ['notify', [channel, buffer, undefined]],
    ['notify', [{}, buffer, () => {}]],
  ];
  for (const [name, args] of wrong)
    expect(() => call[name]?.(...args), `${name}(${args.length})`).toThrow(/wrong argument/);
  native.unwatch(channel);
});

test.each(['terminate', 'exit'])('a thread that ends with an open channel takes nothing with it: %s', (how) => {
  const script = join(import.meta.dirname, 'thread-with-channel.mjs');
  const addon = join(import.meta.dirname, '../../native/build/Release/mend.node');
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [script, addon, how], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  expect({ status, signal, stdout, stderr }).toEqual({ status: 0, signal: null, stdout: 'still here\n', stderr: '' });
});
