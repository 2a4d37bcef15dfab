import type Database from 'better-sqlite3';

/** Two contents of one path that could not be merged, by SHA-256. */
export interface ImportDispute {
  /** What lay in the folder. */
  readonly sent: Buffer;
  /** What the store had. */
  readonly stored: Buffer;
}

/** Remembers the conflicts of imports, by folder of a machine. */
export class ImportDisputes {
  readonly #get;
  readonly #put;
  readonly #delete;

  constructor(db: Database.Database) {
    this.#get = db.prepare<[number, string, number, string], ImportDispute>(
      'SELECT sent, stored FROM import_dispute WHERE machine = ? AND folder = ? AND tree = ? AND path = ?',
    );
    this.#put = db.prepare(
      `INSERT INTO import_dispute (machine, folder, tree, path, sent, stored) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (machine, folder, tree, path) DO UPDATE SET sent = excluded.sent, stored = excluded.stored`,
    );
    this.#delete = db.prepare('DELETE FROM import_dispute WHERE machine = ? AND folder = ? AND tree = ? AND path = ?');
  }

  get(machine: number, folder: string, tree: number, path: string): ImportDispute | undefined {
    return this.#get.get(machine, folder, tree, path);
  }

  put(machine: number, folder: string, tree: number, path: string, { sent, stored }: ImportDispute): void {
    this.#put.run(machine, folder, tree, path, sent, stored);
  }

  delete(machine: number, folder: string, tree: number, path: string): void {
    this.#delete.run(machine, folder, tree, path);
  }
}
