import { isUtf8 } from 'node:buffer';
import { ProtocolError } from './protocol-error.js';

const TWO_32 = 4294967296;

/** A name as it came from the kernel; null when its bytes are not valid UTF-8. */
export type WireName = string | null;

/** Reads the fields of one message in order of their offsets; refuses to read past its end. Little-endian hosts only. */
export class WireReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  #end = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Sets the length of the message, in bytes, that is now in the buffer. */
  limit(end: number): void {
    if (end > this.#bytes.length) throw new ProtocolError('message is longer than its buffer');
    this.#end = end;
  }

  get end(): number {
    return this.#end;
  }

  u16(offset: number): number {
    this.#need(offset, 2);
    return this.#view.getUint16(offset, true);
  }

  u32(offset: number): number {
    this.#need(offset, 4);
    return this.#view.getUint32(offset, true);
  }

  /** An unsigned 64-bit field; above 2^53 the nearest double. */
  u64(offset: number): number {
    this.#need(offset, 8);
    return this.#view.getUint32(offset + 4, true) * TWO_32 + this.#view.getUint32(offset, true);
  }

  /** A signed 64-bit field; beyond ±2^53 the nearest double. */
  i64(offset: number): number {
    this.#need(offset, 8);
    return this.#view.getInt32(offset + 4, true) * TWO_32 + this.#view.getUint32(offset, true);
  }

  /** A NUL-terminated name, and where the next field starts. */
  name(offset: number): { name: WireName; next: number } {
    const nul = this.#bytes.indexOf(0, offset);
    if (offset > this.#end || nul < 0 || nul >= this.#end) throw new ProtocolError('name without its end');
    if (nul === offset) throw new ProtocolError('empty name');
    const valid = isUtf8(this.#bytes.subarray(offset, nul));
    return { name: valid ? this.#bytes.toString('utf8', offset, nul) : null, next: nul + 1 };
  }

  /** A view, not a copy, of `length` bytes. */
  bytes(offset: number, length: number): Buffer {
    this.#need(offset, length);
    return this.#bytes.subarray(offset, offset + length);
  }

  #need(offset: number, length: number): void {
    if (offset + length > this.#end) throw new ProtocolError('message is too short for its kind');
  }
}
