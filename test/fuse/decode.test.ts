import { describe, expect, it, test } from 'vitest';
import { REQUEST_BUFFER_SIZE } from '../../src/fuse/constants.js';
import { decodeRequest } from '../../src/fuse/decode.js';
import { ProtocolError } from '../../src/fuse/protocol-error.js';
import type { Request } from '../../src/fuse/request.js';
import { WireReader } from '../../src/fuse/wire-reader.js';
import { bytesOf, headerFields, nameRow, type Row, requestBytes } from './annotated.js';
import { samples } from './requests.js';
import { setattrSamples } from './setattr-requests.js';

/** What lies in the buffer beyond the message must never be read: here NULs, which would end a name. */
function decode(message: Buffer): Request {
  const buffer = Buffer.concat([message, Buffer.alloc(64)]);
  const reader = new WireReader(buffer);
  reader.limit(message.length);
  return decodeRequest(reader);
}

const all = [...samples, ...setattrSamples];

describe('requests, byte for byte', () => {
  it.each(all)('$title', ({ opcode, rows, body }) => {
    expect(decode(requestBytes(opcode, ...rows))).toEqual({
      opcode: Number.parseInt(opcode, 16),
      ...headerFields,
      body,
    });
  });
});

describe('requests cut short', () => {
  it.each(all)('$title at every length', ({ opcode, rows, used }) => {
    const whole = requestBytes(opcode, ...rows);
    const needed = used === undefined ? whole.length : 40 + used;
    for (let length = 0; length < whole.length; length++) {
      const part = Buffer.from(whole.subarray(0, length));
      // Both with the length it has and with the one it claims.
      expect(() => decode(part), `${length} bytes`).toThrow(ProtocolError);
      if (length < 4) continue;
      part.writeUInt32LE(length);
      if (length < needed) expect(() => decode(part), `${length} bytes that say so`).toThrow(ProtocolError);
      else expect(decode(part).opcode).toBe(Number.parseInt(opcode, 16));
    }
  });
});

test('the data of a WRITE is a view into the buffer', () => {
  const message = requestBytes(
    '10',
    ['0000000000000000', 'fh'],
    ['0000000000000000', 'offset'],
    ['02000000', 'size'],
    ['00'.repeat(20), 'write_flags, lock_owner, flags, padding'],
    ['6162', 'data'],
  );
  const reader = new WireReader(message);
  reader.limit(message.length);
  const { body } = decodeRequest(reader);
  message.write('xy', 80);
  expect(body.op === 'write' && body.data.toString()).toBe('xy');
});

const wrong: readonly [title: string, opcode: string, ...rows: Row[]][] = [
  ['a name without its end', '01', ['616263', 'name']],
  ['an empty name', '01', ['00', 'name']],
  ['no name at all', '01'],
  ['one name where two are due', '0c', ['0100000000000000', 'newdir'], nameRow('a', 'oldname')],
  ['an empty second name', '0c', ['0100000000000000', 'newdir'], nameRow('a', 'oldname'), ['00', 'newname']],
  ['more forgets than there are', '2a', ['02000000', 'count'], ['00'.repeat(4), 'dummy'], ['00'.repeat(16), 'one']],
  ['2^32 - 1 forgets', '2a', ['ffffffff', 'count'], ['00'.repeat(4), 'dummy'], ['00'.repeat(16), 'one']],
  [
    'more data than there is',
    '10',
    ['00'.repeat(16), 'fh, offset'],
    ['05000000', 'size'],
    ['00'.repeat(20), ''],
    ['61626364', 'data'],
  ],
  [
    '2^32 - 1 bytes of data',
    '10',
    ['00'.repeat(16), 'fh, offset'],
    ['ffffffff', 'size'],
    ['00'.repeat(20), ''],
    ['61', 'data'],
  ],
];

test.each(wrong)('%s is refused', (_, opcode, ...rows) => {
  expect(() => decode(requestBytes(opcode, ...rows))).toThrow(ProtocolError);
});

test('a length in the header that is not that of the message is refused', () => {
  const longer = Buffer.concat([requestBytes('11'), bytesOf(['00', 'one more'])]);
  expect(() => decode(longer)).toThrow(ProtocolError);
});

test('a message longer than the buffer is refused', () => {
  const reader = new WireReader(Buffer.alloc(64));
  expect(() => reader.limit(65)).toThrow(ProtocolError);
});

test('the buffer holds the largest WRITE', () => {
  expect(REQUEST_BUFFER_SIZE).toBeGreaterThanOrEqual(40 + 40 + 256 * 4096);
});
