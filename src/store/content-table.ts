import { hash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import { MendError } from '../errors.js';

/** Bytes of contents kept in memory. */
const CACHE_BYTES = 64 * 1024 * 1024;
/** Rows deleted in one go, so that nobody waits long for it. */
const SWEPT = 200;

/** Immutable bytes, one row for each SHA-256. */
export class ContentTable {
  readonly #newId: () => number;
  readonly #find;
  readonly #load;
  readonly #insert;
  readonly #unreferenced;
  readonly #sweep;
  readonly #cache = new LRUCache<number, Buffer>({
    maxSize: CACHE_BYTES,
    sizeCalculation: (bytes) => bytes.length + 64,
  });

  constructor(db: Database.Database, newId: () => number) {
    this.#newId = newId;
    this.#find = db.prepare<[Buffer], number>('SELECT id FROM content WHERE sha256 = ?').pluck();
    this.#load = db.prepare<[number], Buffer>('SELECT bytes FROM content WHERE id = ?').pluck();
    this.#insert = db.prepare('INSERT INTO content (id, size, sha256, bytes) VALUES (?, ?, ?, ?)');
    const unreferenced = `id NOT IN (
      SELECT content FROM node WHERE content IS NOT NULL UNION SELECT content FROM version
      UNION SELECT base FROM draft WHERE base IS NOT NULL UNION SELECT first FROM draft WHERE first IS NOT NULL
      UNION SELECT content FROM served WHERE content IS NOT NULL UNION SELECT wrote FROM served WHERE wrote IS NOT NULL
      UNION SELECT sent FROM import_base UNION SELECT stored FROM import_base UNION SELECT value FROM json_each(@held))`;
    this.#unreferenced = db
      .prepare<[{ held: string }], number>(`SELECT id FROM content WHERE ${unreferenced} LIMIT ${SWEPT}`)
      .pluck();
    this.#sweep = db.prepare(`DELETE FROM content WHERE id IN (SELECT value FROM json_each(@ids)) AND ${unreferenced}`);
  }

  /** @throws {MendError} when there is no such content. */
  get(id: number): Buffer {
    const cached = this.#cache.get(id);
    if (cached) return cached;
    const bytes = this.#load.get(id);
    if (!bytes) throw new MendError(`content ${id} is not in the store`);
    this.#cache.set(id, bytes);
    return bytes;
  }

  /** Stores a copy of `bytes`, or finds the row that has them. */
  put(bytes: Buffer): number {
    const sha256 = hash('sha256', bytes, 'buffer');
    const known = this.#find.get(sha256);
    if (known !== undefined) return known;
    const id = this.#newId();
    const copy = Buffer.from(bytes);
    this.#insert.run(id, copy.length, sha256, copy);
    this.#cache.set(id, copy);
    return id;
  }

  /** Empties the cache, which may hold rows of a transaction that did not commit. */
  forget(): void {
    this.#cache.clear();
  }

  /** Some contents that nothing points to, for `sweep`; needs no transaction. */
  unreferenced(held: readonly number[]): number[] {
    return this.#unreferenced.all({ held: JSON.stringify(held) });
  }

  /**
   * Deletes those of the given contents that nothing points to; returns how many.
   * @param held contents that open files show
   */
  sweep(ids: readonly number[], held: readonly number[]): number {
    return this.#sweep.run({ ids: JSON.stringify(ids), held: JSON.stringify(held) }).changes;
  }
}
