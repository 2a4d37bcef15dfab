import type Database from 'better-sqlite3';

const SHIFT = 2 ** 20;
/** Bytes of one row; a local file has at most 2^20 rows. */
export const LOCAL_BLOCK = 16 * 1024;
/** Largest local file, in bytes. */
export const LOCAL_MAXIMUM = SHIFT * LOCAL_BLOCK;

/** Bytes of local files (spec §3.7), in blocks; a block that is missing or short reads as zeros. */
export class LocalTable {
  readonly #get;
  readonly #range;
  readonly #put;
  readonly #delete;

  constructor(db: Database.Database) {
    this.#get = db.prepare<[number], Buffer>('SELECT bytes FROM local_block WHERE id = ?').pluck();
    this.#range = db.prepare<[number, number], { id: number; bytes: Buffer }>(
      'SELECT id, bytes FROM local_block WHERE id >= ? AND id < ?',
    );
    this.#put = db.prepare(
      'INSERT INTO local_block (id, bytes) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes',
    );
    this.#delete = db.prepare('DELETE FROM local_block WHERE id >= ? AND id < ?');
  }

  /** @param size length of the file, which the answer does not go beyond */
  read(node: number, position: number, length: number, size: number): Buffer {
    const out = Buffer.alloc(Math.max(0, Math.min(length, size - position)));
    if (out.length === 0) return out;
    const first = Math.floor(position / LOCAL_BLOCK);
    const end = Math.ceil((position + out.length) / LOCAL_BLOCK);
    for (const { id, bytes } of this.#range.all(node * SHIFT + first, node * SHIFT + end)) {
      const start = (id - node * SHIFT) * LOCAL_BLOCK;
      const skip = Math.max(0, position - start);
      if (skip < bytes.length) bytes.copy(out, Math.max(0, start - position), skip);
    }
    return out;
  }

  write(node: number, position: number, bytes: Buffer): void {
    for (let done = 0; done < bytes.length; ) {
      const block = Math.floor((position + done) / LOCAL_BLOCK);
      const within = position + done - block * LOCAL_BLOCK;
      const part = bytes.subarray(done, done + LOCAL_BLOCK - within);
      const id = node * SHIFT + block;
      const old = part.length === LOCAL_BLOCK ? undefined : this.#get.get(id);
      const merged = Buffer.alloc(Math.max(old?.length ?? 0, within + part.length));
      old?.copy(merged);
      part.copy(merged, within);
      this.#put.run(id, merged);
      done += part.length;
    }
  }

  /** Drops what lies beyond `size`. */
  truncate(node: number, size: number): void {
    const block = Math.floor(size / LOCAL_BLOCK);
    const within = size - block * LOCAL_BLOCK;
    const id = node * SHIFT + block;
    const last = within > 0 ? this.#get.get(id) : undefined;
    this.#delete.run(id, (node + 1) * SHIFT);
    if (last) this.#put.run(id, last.subarray(0, within));
  }

  delete(node: number): void {
    this.#delete.run(node * SHIFT, (node + 1) * SHIFT);
  }
}
