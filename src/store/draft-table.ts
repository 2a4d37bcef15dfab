import type Database from 'better-sqlite3';
import type { DraftRow, StoredDraft } from '../ports/store.js';

/** Writes that a draft can have before its rows are folded into one; ids leave room for 2^20. */
const SHIFT = 2 ** 20;

/** Bytes written and not yet saved, as the writes came. */
export class DraftTable {
  readonly #owner: string;
  readonly #insert;
  readonly #append;
  readonly #delete;
  readonly #restart;
  readonly #deleteWrites;
  readonly #owners;
  readonly #byOwner;
  readonly #ofFile;
  readonly #writes;
  readonly #ofTree;

  /** @param owner names the daemon that serves the drafts made through this connection */
  constructor(db: Database.Database, owner: string) {
    this.#owner = owner;
    this.#insert = db.prepare(
      'INSERT INTO draft (id, owner, tree, node, path, session, base, first) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#append = db.prepare('INSERT INTO draft_write (id, position, bytes, at) VALUES (?, ?, ?, ?)');
    this.#restart = db.prepare('UPDATE draft SET first = ? WHERE id = ?');
    this.#delete = db.prepare('DELETE FROM draft WHERE id = ?');
    this.#deleteWrites = db.prepare('DELETE FROM draft_write WHERE id >= ? AND id < ?');
    this.#owners = db.prepare<[], string>('SELECT DISTINCT owner FROM draft').pluck();
    this.#byOwner = db.prepare<[string], DraftRow>(
      'SELECT id, tree, node, path, session, base, first FROM draft WHERE owner = ? ORDER BY id',
    );
    this.#ofFile = db.prepare<[number, string, number], DraftRow & { owner: string }>(
      'SELECT id, owner, tree, node, path, session, base, first FROM draft WHERE tree = ? AND (path = ? OR node = ?)',
    );
    this.#writes = db.prepare<[number, number], StoredDraft['writes'][number]>(
      'SELECT position, bytes, at FROM draft_write WHERE id >= ? AND id < ? ORDER BY id',
    );
    this.#ofTree = db.prepare<[string, number], DraftRow & { key: string; name: string }>(
      `SELECT d.id, d.tree, d.node, d.path, d.session, d.base, d.first, s.key, s.name
       FROM draft d JOIN session s ON s.id = d.session WHERE d.owner = ? AND d.tree = ? ORDER BY d.id`,
    );
  }

  insert(row: DraftRow): void {
    this.#insert.run(row.id, this.#owner, row.tree, row.node, row.path, row.session, row.base, row.first);
  }

  append(draft: number, index: number, position: number, bytes: Buffer | null, at: number | null = null): void {
    this.#append.run(draft * SHIFT + index, position, bytes, at);
  }

  restart(draft: number, first: number): void {
    this.#restart.run(first, draft);
    this.deleteWrites(draft);
  }

  /** @param writes how many rows of writes it has, at least; with 0 they are not looked for */
  delete(draft: number, writes: number): void {
    this.#delete.run(draft);
    if (writes > 0) this.deleteWrites(draft);
  }

  deleteWrites(draft: number): void {
    this.#deleteWrites.run(draft * SHIFT, (draft + 1) * SHIFT);
  }

  owners(): string[] {
    return this.#owners.all();
  }

  /** Drafts of a path of a tree, or of a node, with the daemon that each is served by. */
  ofFile(tree: number, path: string, node: number): (DraftRow & { readonly owner: string })[] {
    return this.#ofFile.all(tree, path, node);
  }

  ofOwner(owner: string): DraftRow[] {
    return this.#byOwner.all(owner);
  }

  /** The drafts of a tree that belong to this connection's owner. */
  ofTree(tree: number): StoredDraft[] {
    return this.#ofTree.all(this.#owner, tree).map(({ key, name, ...row }) => ({
      ...row,
      by: { key, name },
      writes: this.#writes.all(row.id * SHIFT, (row.id + 1) * SHIFT),
    }));
  }

  /** Plays a draft's writes over the bytes they start from. */
  replay(draft: number, base: Buffer): Buffer {
    let bytes = Buffer.from(base);
    for (const write of this.#writes.all(draft * SHIFT, (draft + 1) * SHIFT)) {
      const end = write.bytes ? Math.max(bytes.length, write.position + write.bytes.length) : write.position;
      if (end !== bytes.length) {
        const resized = Buffer.alloc(end);
        bytes.copy(resized);
        bytes = resized;
      }
      write.bytes?.copy(bytes, write.position);
    }
    return bytes;
  }
}
