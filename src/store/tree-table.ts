import type Database from 'better-sqlite3';

/** The memory folder of one project and harness. */
export interface TreeRow {
  readonly id: number;
  readonly project: number;
  readonly harness: string;
  /** Node id of its root folder. */
  readonly root: number;
}

/** A place where a tree is, or was, mounted. */
export interface MountRow {
  readonly id: number;
  readonly tree: number;
  readonly path: string;
  readonly checkout: string;
}

/** Trees, and the places where they are mounted. */
export class TreeTable {
  readonly #get;
  readonly #find;
  readonly #ofProject;
  readonly #insert;
  readonly #insertRoot;
  readonly #mount;
  readonly #putMount;
  readonly #usage;

  constructor(db: Database.Database) {
    this.#get = db.prepare<[number], TreeRow>('SELECT id, project, harness, root FROM tree WHERE id = ?');
    this.#find = db.prepare<[number, string], TreeRow>(
      'SELECT id, project, harness, root FROM tree WHERE project = ? AND harness = ?',
    );
    this.#ofProject = db.prepare<[number], TreeRow>(
      'SELECT id, project, harness, root FROM tree WHERE project = ? ORDER BY harness',
    );
    this.#insert = db.prepare('INSERT INTO tree (id, project, harness, root) VALUES (?, ?, ?, ?)');
    this.#insertRoot = db.prepare(
      "INSERT INTO node (id, tree, kind, mtime, atime, ctime) VALUES (?, ?, 'directory', ?, ?, ?)",
    );
    this.#mount = db.prepare<[number, string], MountRow>(
      'SELECT id, tree, path, checkout FROM mount WHERE machine = ? AND path = ?',
    );
    this.#putMount = db.prepare(
      `INSERT INTO mount (id, tree, machine, path, checkout) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (machine, path) DO UPDATE SET tree = excluded.tree, checkout = excluded.checkout`,
    );
    this.#usage = db.prepare<[number], { files: number; directories: number; bytes: number }>(
      `SELECT coalesce(sum(n.kind = 'file'), 0) AS files, coalesce(sum(n.kind = 'directory'), 0) AS directories,
         coalesce(sum(n.size), 0) AS bytes
       FROM node n JOIN tree t ON t.id = n.tree WHERE t.project = ? AND n.mount = 0 AND n.parent IS NOT NULL`,
    );
  }

  get(id: number): TreeRow | undefined {
    return this.#get.get(id);
  }

  find(project: number, harness: string): TreeRow | undefined {
    return this.#find.get(project, harness);
  }

  ofProject(project: number): TreeRow[] {
    return this.#ofProject.all(project);
  }

  create(project: number, harness: string, newId: () => number, now: number): TreeRow {
    const row = { id: newId(), project, harness, root: newId() };
    this.#insert.run(row.id, project, harness, row.root);
    this.#insertRoot.run(row.root, row.id, now, now, now);
    return row;
  }

  mountAt(machine: number, path: string): MountRow | undefined {
    return this.#mount.get(machine, path);
  }

  putMount(row: MountRow, machine: number): void {
    this.#putMount.run(row.id, row.tree, machine, row.path, row.checkout);
  }

  /** Files, folders and bytes of memory that a project has across its trees. */
  usage(project: number): { files: number; directories: number; bytes: number } {
    return this.#usage.get(project) ?? { files: 0, directories: 0, bytes: 0 };
  }
}
