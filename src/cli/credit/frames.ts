import type { Readable } from 'node:stream';
import { MendError } from '../../errors.js';

/** Longest frame that is read: a file as large as settings allow, with room. */
const LONGEST = 65 * 1024 ** 2;
const HEAD = 4;

/** A frame of a stream: four bytes with its length, and its bytes. */
export function frame(bytes: Buffer): Buffer {
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
}

export function jsonFrame(value: unknown): Buffer {
  return frame(Buffer.from(JSON.stringify(value)));
}

/** Reads frames off a stream, one after the other; nothing is read ahead of what was asked for but what has arrived. */
export class FrameReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer[] = [];
  #length = 0;

  constructor(stream: Readable) {
    this.#chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** @throws {MendError} when the stream ends before the frame does */
  async next(): Promise<Buffer> {
    const length = (await this.#take(HEAD)).readUInt32BE();
    if (length > LONGEST) throw new MendError('a reading was handed over in a form that is not known: try again');
    return this.#take(length);
  }

  async json<T>(): Promise<T> {
    return JSON.parse((await this.next()).toString()) as T;
  }

  async #take(length: number): Promise<Buffer> {
    while (this.#length < length) {
      const { value, done } = await this.#chunks.next();
      if (done) throw new MendError('the command that reads the memory ended before it was read: run it again');
      this.#rest.push(value);
      this.#length += value.length;
    }
    const [first] = this.#rest;
    const all = first && this.#rest.length === 1 ? first : Buffer.concat(this.#rest);
    this.#rest = [all.subarray(length)];
    this.#length = all.length - length;
    return all.subarray(0, length);
  }
}
