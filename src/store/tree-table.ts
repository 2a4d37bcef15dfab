import type Database from 'better-sqlite3';
import { isSystemError, MendError } from '../errors.js';

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
  /** The daemon that served it last. */
  readonly owner: string;
}

/** Trees, and the places where they are mounted. */
export class TreeTable {
  readonly #get;
  readonly #find;
  readonly #ofProject;
  readonly #insert;
  readonly #insertRoot;
  readonly #mounts;
  readonly #mountsOf;
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
    this.#mounts = db.prepare<[number, string], MountRow>(
      'SELECT id, tree, path, checkout, owner FROM mount WHERE machine = ? AND path = ? ORDER BY id DESC',
    );
    this.#mountsOf = db
      .prepare<[number, number], string>('SELECT DISTINCT path FROM mount WHERE tree = ? AND machine = ?')
      .pluck();
    this.#putMount = db.prepare(
      `INSERT INTO mount (id, tree, machine, path, checkout, owner) VALUES (@id, @tree, @machine, @path, @checkout, @owner)
       ON CONFLICT (id) DO UPDATE SET tree = excluded.tree, checkout = excluded.checkout, owner = excluded.owner`,
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

  /** @throws {MendError} when there is no such project any more. */
  create(project: number, harness: string, newId: () => number, now: number): TreeRow {
    const row = { id: newId(), project, harness, root: newId() };
    try {
      this.#insert.run(row.id, project, harness, row.root);
    } catch (error) {
      if (!isSystemError(error, 'SQLITE_CONSTRAINT_FOREIGNKEY')) throw error;
      throw new MendError('the project was forgotten meanwhile: run the command again to make a new one');
    }
    this.#insertRoot.run(row.root, row.id, now, now, now);
    return row;
  }

  /** The mounts that were made at a path, newest first: one for each daemon that may serve it at once. */
  mountsAt(machine: number, path: string): MountRow[] {
    return this.#mounts.all(machine, path);
  }

  /** The places where a tree was mounted on a machine. */
  mountsOf(tree: number, machine: number): string[] {
    return this.#mountsOf.all(tree, machine);
  }

  putMount(row: MountRow, machine: number): void {
    this.#putMount.run({ ...row, machine });
  }

  /** Files, folders and bytes of memory that a project has across its trees. */
  usage(project: number): { files: number; directories: number; bytes: number } {
    return this.#usage.get(project) ?? { files: 0, directories: 0, bytes: 0 };
  }
}
