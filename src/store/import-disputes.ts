import type Database from 'better-sqlite3';

/** Two contents of one path that could not be merged, by SHA-256. */
export interface ImportDispute {
  readonly path: string;
  /** What lay in the folder. */
  readonly sent: Buffer;
  /** What the store had; empty when a purge took what was sent out of the store, which settles it. */
  readonly stored: Buffer;
  /** Its path in the tree, where that has another Unicode form. */
  readonly file: string | null;
}

/** Remembers the conflicts of imports, by folder of a machine. */
export class ImportDisputes {
  readonly #get;
  readonly #of;
  readonly #ofFile;
  readonly #put;
  readonly #settle;
  readonly #delete;

  constructor(db: Database.Database) {
    const columns = 'path, sent, stored, file';
    this.#get = db.prepare<[number, string, number, string], ImportDispute>(
      `SELECT ${columns} FROM import_dispute WHERE machine = ? AND folder = ? AND tree = ? AND path = ?`,
    );
    this.#of = db.prepare<[number, string, number], ImportDispute>(
      `SELECT ${columns} FROM import_dispute WHERE machine = ? AND folder = ? AND tree = ?`,
    );
    this.#ofFile = db.prepare<[number, number, string], ImportDispute & { folder: string }>(
      `SELECT ${columns}, folder FROM import_dispute
       WHERE machine = ? AND tree = ? AND coalesce(file, path) = ? ORDER BY folder`,
    );
    this.#put = db.prepare(
      `INSERT INTO import_dispute (machine, folder, tree, path, sent, stored, file) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (machine, folder, tree, path)
       DO UPDATE SET sent = excluded.sent, stored = excluded.stored, file = excluded.file`,
    );
    this.#settle = db.prepare(
      `UPDATE import_dispute SET stored = x'' WHERE tree = ? AND coalesce(file, path) = ? AND sent = ?`,
    );
    this.#delete = db.prepare('DELETE FROM import_dispute WHERE machine = ? AND folder = ? AND tree = ? AND path = ?');
  }

  get(machine: number, folder: string, tree: number, path: string): ImportDispute | undefined {
    return this.#get.get(machine, folder, tree, path);
  }

  of(machine: number, folder: string, tree: number): ImportDispute[] {
    return this.#of.all(machine, folder, tree);
  }

  /** The disputes about one file of a tree, with each folder of a machine. */
  ofFile(machine: number, tree: number, file: string): (ImportDispute & { readonly folder: string })[] {
    return this.#ofFile.all(machine, tree, file);
  }

  put(machine: number, folder: string, tree: number, { path, sent, stored, file }: ImportDispute): void {
    this.#put.run(machine, folder, tree, path, sent, stored, file);
  }

  /** Notes that what was sent for a file was purged. */
  settle(tree: number, file: string, sent: Buffer): void {
    this.#settle.run(tree, file, sent);
  }

  delete(machine: number, folder: string, tree: number, path: string): void {
    this.#delete.run(machine, folder, tree, path);
  }
}
