import type Database from 'better-sqlite3';
import type { NodeRow } from '../ports/store.js';

const COLUMNS = 'id, tree, mount, parent, name, kind, content, size, mtime, atime, ctime, shown';

/** The live tree: one row a file or folder. */
export class NodeTable {
  readonly #load;
  readonly #byTree;
  readonly #byName;
  readonly #insert;
  readonly #update;
  readonly #move;
  readonly #delete;
  readonly #deleteOrphan;
  readonly #restore;
  readonly #orphans;
  readonly #children;

  constructor(db: Database.Database) {
    this.#load = db.prepare<[number], NodeRow>(`SELECT ${COLUMNS} FROM node WHERE id = ?`);
    this.#children = db.prepare<[number, number], NodeRow>(
      `SELECT ${COLUMNS} FROM node WHERE parent = ? AND mount IN (0, ?) ORDER BY id`,
    );
    this.#byName = db.prepare<[number, string], NodeRow>(
      `SELECT ${COLUMNS} FROM node WHERE parent = ? AND name = ? AND mount = 0`,
    );
    this.#byTree = db.prepare<[number], NodeRow>(`SELECT ${COLUMNS} FROM node WHERE tree = ? AND parent IS NULL`);
    this.#insert = db.prepare(
      `INSERT INTO node (${COLUMNS}) VALUES (@id, @tree, @mount, @parent, @name, @kind, @content, @size, @mtime, @atime, @ctime, @shown)`,
    );
    this.#restore = db.prepare(
      `INSERT INTO node (${COLUMNS}) VALUES (@id, @tree, @mount, @parent, @name, @kind, @content, @size, @mtime, @atime, @ctime, @shown)
       ON CONFLICT (id) DO UPDATE SET parent = excluded.parent, name = excluded.name, content = excluded.content,
         size = excluded.size, mtime = excluded.mtime, atime = excluded.atime, ctime = excluded.ctime, shown = excluded.shown`,
    );
    const attributes =
      'content = @content, size = @size, mtime = @mtime, atime = @atime, ctime = @ctime, shown = @shown';
    this.#update = db.prepare(`UPDATE node SET ${attributes} WHERE id = @id`);
    this.#move = db.prepare(
      `UPDATE node SET mount = @mount, parent = @parent, name = @name, ${attributes} WHERE id = @id`,
    );
    this.#delete = db.prepare('DELETE FROM node WHERE id = ?');
    this.#deleteOrphan = db.prepare('DELETE FROM node WHERE id = ? AND parent IS NULL');
    this.#orphans = db.prepare(
      'DELETE FROM node WHERE tree = ? AND parent IS NULL AND id NOT IN (SELECT root FROM tree) RETURNING id',
    );
  }

  get(id: number): NodeRow | undefined {
    return this.#load.get(id);
  }

  child(parent: number, name: string): NodeRow | undefined {
    return this.#byName.get(parent, name);
  }

  insert(row: NodeRow): void {
    this.#insert.run(row);
  }

  /** Updates what a node is, not where it lies. */
  update(row: NodeRow): void {
    this.#update.run(row);
  }

  /** Updates a node whose place changes too. */
  move(row: NodeRow): void {
    this.#move.run(row);
  }

  /** Nodes of a tree that lie in no folder, its root aside. */
  orphansOf(tree: number, root: number): NodeRow[] {
    return this.#byTree.all(tree).filter((row) => row.id !== root);
  }

  deleteOrphan(id: number): boolean {
    return this.#deleteOrphan.run(id).changes > 0;
  }

  restore(row: NodeRow): void {
    this.#restore.run(row);
  }

  delete(id: number): void {
    this.#delete.run(id);
  }

  /** The rows of a tree that are reachable from its root, parents first: memory, and local files of one mount. */
  walk(root: number, mount: number): NodeRow[] {
    const found: NodeRow[] = [];
    const top = this.#load.get(root);
    if (top) found.push(top);
    for (let i = 0; i < found.length; i++) {
      const row = found[i];
      if (row?.kind === 'directory') found.push(...this.#children.all(row.id, mount));
    }
    return found;
  }

  /** Removes files of a tree that nobody can reach any more. */
  deleteOrphans(tree: number): number[] {
    return (this.#orphans.all(tree) as { id: number }[]).map((row) => row.id);
  }

  rootsOf(tree: number): NodeRow[] {
    return this.#byTree.all(tree);
  }
}
