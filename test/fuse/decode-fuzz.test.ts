import { expect, test } from 'vitest';
import { decodeRequest } from '../../src/fuse/decode.js';
import { ProtocolError } from '../../src/fuse/protocol-error.js';
import { WireReader } from '../../src/fuse/wire-reader.js';
import { randomSource, requestBytes } from './annotated.js';
import { samples } from './requests.js';
import { setattrSamples } from './setattr-requests.js';

const ROUNDS = 40_000;
/** Another seed each day finds more with time; `MEND_SEED` repeats a run. */
const seed = Number(process.env['MEND_SEED'] ?? Math.floor(Date.now() / 86_400_000));
const valid = [...samples, ...setattrSamples].map(({ opcode, rows }) => requestBytes(opcode, ...rows));

/** Decodes; tells whether it was understood. Anything thrown but the protocol error comes out. */
function understood(buffer: Buffer, length: number): boolean {
  const reader = new WireReader(buffer);
  try {
    reader.limit(length);
    decodeRequest(reader);
    return true;
  } catch (error) {
    if (error instanceof ProtocolError) return false;
    throw error;
  }
}

function run(round: (random: (bound: number) => number) => boolean): number {
  const random = randomSource(seed);
  let count = 0;
  for (let i = 0; i < ROUNDS; i++) {
    try {
      if (round(random)) count++;
    } catch (error) {
      throw new Error(`round ${i}, MEND_SEED=${seed}`, { cause: error });
    }
  }
  return count;
}

test(`${ROUNDS} random messages throw nothing but the protocol error`, () => {
  const count = run((random) => {
    const length = random(200);
    const buffer = Buffer.alloc(256);
    for (let i = 0; i < buffer.length; i++) buffer[i] = random(4) === 0 ? 0 : random(256);
    if (length >= 8 && random(8) !== 0) buffer.writeUInt32LE(length, 0);
    if (length >= 8 && random(8) !== 0) buffer.writeUInt32LE(random(64), 4);
    return understood(buffer, length);
  });
  // Both kinds must come up, or the messages are of no use.
  expect(count).toBeGreaterThan(ROUNDS / 20);
  expect(count).toBeLessThan(ROUNDS);
});

test(`${ROUNDS} damaged requests throw nothing but the protocol error`, () => {
  const count = run((random) => {
    const original = valid[random(valid.length)] ?? Buffer.alloc(0);
    const buffer = Buffer.concat([original, Buffer.alloc(random(40), random(256))]);
    const length = random(3) === 0 ? random(buffer.length + 1) : original.length;
    if (length >= 4) buffer.writeUInt32LE(length, 0);
    for (let changes = random(6); changes > 0; changes--) {
      const at = random(buffer.length);
      const kind = random(3);
      buffer[at] = kind === 0 ? random(256) : kind === 1 ? 0xff : (buffer[at] ?? 0) ^ (1 << random(8));
    }
    return understood(buffer, length);
  });
  expect(count).toBeGreaterThan(ROUNDS / 20);
  expect(count).toBeLessThan(ROUNDS);
});
