import type Database from 'better-sqlite3';

/** Rows of the feed kept for daemons that lag behind. */
const KEPT = 10_000;

/** One row of the change feed: this node of this tree is not what it was. */
export interface Change {
  readonly seq: number;
  readonly tree: number;
  /** `PURGED`, which is no node, when contents were purged. */
  readonly node: number;
}

/** A name that a node has left. */
export interface Vacated {
  readonly node: number;
  /** The folder's node. */
  readonly parent: number;
  readonly name: string;
}

/** In the place of a node: contents were purged, and nobody is to keep them in memory. */
export const PURGED = 0;

/** The change feed: what everybody who commits appends to, and what every daemon follows. */
export class Feed {
  readonly #append;
  readonly #last;
  readonly #after;
  readonly #prune;
  readonly #first;
  readonly #vacated;
  readonly #pruneVacated;
  readonly #forgetVacated;
  /** Newest row that this connection wrote or was told of; a lower number means changes are applied twice, a higher that some are missed. */
  seen: number;

  constructor(db: Database.Database) {
    this.#append = db.prepare('INSERT INTO change (tree, node) VALUES (?, ?)');
    this.#last = db.prepare<[], number>('SELECT max(seq) FROM change').pluck();
    this.#after = db.prepare<[number], Change>('SELECT seq, tree, node FROM change WHERE seq > ? ORDER BY seq');
    this.#first = db.prepare<[], number>('SELECT min(seq) FROM change').pluck();
    this.#prune = db.prepare('DELETE FROM change WHERE seq <= (SELECT max(seq) FROM change) - ?');
    this.#vacated = db.prepare<[number], Vacated>('SELECT node, parent, name FROM vacated WHERE seq >= ?');
    this.#pruneVacated = db.prepare('DELETE FROM vacated WHERE seq < (SELECT max(seq) FROM change) - ?');
    this.#forgetVacated = db.prepare('DELETE FROM vacated');
    this.seen = this.last();
  }

  last(): number {
    return this.#last.get() ?? 0;
  }

  append(tree: number, node: number): void {
    this.seen = Number(this.#append.run(tree, node).lastInsertRowid);
  }

  /** Rows that were added by others since the last call; undefined when some are gone already, so that anything may have changed. */
  news(): Change[] | undefined {
    const first = this.#first.get() ?? 0;
    if (first > this.seen + 1) {
      this.seen = this.last();
      return undefined;
    }
    const rows = this.#after.all(this.seen);
    const newest = rows.at(-1);
    if (newest) this.seen = newest.seq;
    return rows;
  }

  /** Names that memory has left since a row; undefined when that is not known any more. */
  vacatedSince(seq: number): Vacated[] | undefined {
    if ((this.#first.get() ?? 0) > seq + 1) return undefined;
    if (this.#after.all(seq).some(({ node }) => node === PURGED)) return undefined;
    return this.#vacated.all(seq);
  }

  /** Forgets the names that memory has left; what was purged must not be among them. A `PURGED` row has to follow. */
  forgetVacated(): void {
    this.#forgetVacated.run();
  }

  /** Deletes the rows that no daemon should still need. */
  prune(): void {
    this.#prune.run(KEPT);
    this.#pruneVacated.run(KEPT);
  }
}
