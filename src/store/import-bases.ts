import type Database from 'better-sqlite3';

/** What was last taken in from, or written to, one path of a folder: content ids. */
export interface ImportBase {
  readonly path: string;
  /** What lay in the folder. */
  readonly sent: number;
  /** What the store had for it afterwards. */
  readonly stored: number;
  /** Its path in the tree, where that has another Unicode form. */
  readonly file?: string | undefined;
}

/** Remembers the last exchange with each folder of each machine. */
export class ImportBases {
  readonly #all;
  readonly #get;
  readonly #put;
  readonly #delete;
  readonly #ofPath;

  constructor(db: Database.Database) {
    this.#all = db.prepare<[number, string, number], ImportBase>(
      'SELECT path, sent, stored FROM import_base WHERE machine = ? AND folder = ? AND tree = ?',
    );
    this.#get = db.prepare<[number, string, number, string], ImportBase>(
      'SELECT path, sent, stored FROM import_base WHERE machine = ? AND folder = ? AND tree = ? AND path = ?',
    );
    this.#put = db.prepare(
      `INSERT INTO import_base (machine, folder, tree, path, sent, stored, file) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (machine, folder, tree, path)
       DO UPDATE SET sent = excluded.sent, stored = excluded.stored, file = excluded.file`,
    );
    this.#ofPath = db.prepare<[number, number, string], ImportBase & { folder: string }>(
      `SELECT folder, path, sent, stored FROM import_base
       WHERE machine = ? AND tree = ? AND coalesce(file, path) = ? ORDER BY folder`,
    );
    this.#delete = db.prepare('DELETE FROM import_base WHERE machine = ? AND folder = ? AND tree = ? AND path = ?');
  }

  of(machine: number, folder: string, tree: number): Map<string, ImportBase> {
    return new Map(this.#all.all(machine, folder, tree).map((row) => [row.path, row]));
  }

  /** The last exchange of one file with each folder of a machine. */
  ofPath(machine: number, tree: number, path: string): (ImportBase & { readonly folder: string })[] {
    return this.#ofPath.all(machine, tree, path);
  }

  get(machine: number, folder: string, tree: number, path: string): ImportBase | undefined {
    return this.#get.get(machine, folder, tree, path);
  }

  put(machine: number, folder: string, tree: number, base: ImportBase): void {
    this.#put.run(machine, folder, tree, base.path, base.sent, base.stored, base.file ?? null);
  }

  delete(machine: number, folder: string, tree: number, path: string): void {
    this.#delete.run(machine, folder, tree, path);
  }
}
