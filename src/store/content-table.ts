import { hash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import { MendError } from '../errors.js';

/** Bytes of contents kept in memory. */
const CACHE_BYTES = 64 * 1024 * 1024;
/** Rows deleted in one go, so that nobody waits long for it. */
const SWEPT = 200;

/** What tells that some bytes are those of a content, without the bytes. */
export interface Digest {
  readonly size: number;
  readonly sha256: Buffer;
}

/** Immutable bytes, one row for each SHA-256. */
export class ContentTable {
  readonly #newId: () => number;
  readonly #find;
  readonly #load;
  readonly #insert;
  readonly #unreferenced;
  readonly #sweep;
  readonly #digest;
  readonly #findPurged;
  readonly #unpurge;
  readonly #sweepPurged;
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
      UNION SELECT base FROM version WHERE base IS NOT NULL UNION SELECT written FROM version WHERE written IS NOT NULL
      UNION SELECT base FROM draft WHERE base IS NOT NULL UNION SELECT first FROM draft WHERE first IS NOT NULL
      UNION SELECT content FROM served WHERE content IS NOT NULL
      UNION SELECT sent FROM import_base UNION SELECT stored FROM import_base UNION SELECT value FROM json_each(@held))`;
    this.#unreferenced = db
      .prepare<[{ held: string }], number>(`SELECT id FROM content WHERE ${unreferenced} LIMIT ${SWEPT}`)
      .pluck();
    this.#digest = db.prepare<[number, number], Digest>(
      'SELECT size, sha256 FROM content WHERE id = ? UNION ALL SELECT size, sha256 FROM purged WHERE id = ?',
    );
    this.#findPurged = db.prepare<[Buffer], number>('SELECT id FROM purged WHERE sha256 = ?').pluck();
    this.#unpurge = db.prepare('DELETE FROM purged WHERE id = ?');
    this.#sweepPurged = db.prepare(
      'DELETE FROM purged WHERE id NOT IN (SELECT sent FROM import_base UNION SELECT stored FROM import_base)',
    );
    this.#sweep = db.prepare(`DELETE FROM content WHERE id IN (SELECT value FROM json_each(@ids)) AND ${unreferenced}`);
  }

  /** @throws {MendError} when there is no such content. */
  get(id: number): Buffer {
    const bytes = this.find(id);
    if (!bytes) throw new MendError(`content ${id} is not in the store: run "mend store check"`);
    return bytes;
  }

  /** The bytes of a content; undefined when there is none of that id any more. */
  find(id: number): Buffer | undefined {
    const cached = this.#cache.get(id);
    if (cached) return cached;
    const bytes = this.#load.get(id);
    if (bytes) this.#cache.set(id, bytes);
    return bytes;
  }

  /** Stores a copy of `bytes`, or finds the row that has them. */
  put(bytes: Buffer): number {
    const sha256 = hash('sha256', bytes, 'buffer');
    const known = this.#find.get(sha256);
    if (known !== undefined) return known;
    const purged = this.#findPurged.get(sha256);
    if (purged !== undefined) this.#unpurge.run(purged);
    const id = purged ?? this.#newId();
    const copy = Buffer.from(bytes);
    this.#insert.run(id, copy.length, sha256, copy);
    this.#cache.set(id, copy);
    return id;
  }

  /** The content that has these bytes, also one that was purged; undefined when there is none. Nothing is stored. */
  idOf(bytes: Buffer): number | undefined {
    const sha256 = hash('sha256', bytes, 'buffer');
    return this.#find.get(sha256) ?? this.#findPurged.get(sha256);
  }

  /** Size and hash of a content, also of one that was purged while an import base names it. */
  digest(id: number): Digest | undefined {
    return this.#digest.get(id, id);
  }

  /** Empties the cache, which may hold rows of a transaction that did not commit, or that were purged. */
  forget(): void {
    this.#cache.clear();
  }

  /** Some contents that nothing points to, for `sweep`; needs no transaction. */
  unreferenced(held: readonly number[]): number[] {
    return this.#unreferenced.all({ held: JSON.stringify(held) });
  }

  /**
   * Deletes those of the given contents that nothing points to, and what is known of purged ones that nothing names;
   * returns how many contents.
   * @param held contents that open files show
   */
  sweep(ids: readonly number[], held: readonly number[]): number {
    this.#sweepPurged.run();
    return this.#sweep.run({ ids: JSON.stringify(ids), held: JSON.stringify(held) }).changes;
  }
}
