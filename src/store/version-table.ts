import type Database from 'better-sqlite3';
import type { NewVersion, VersionKind } from '../ports/store.js';

/** Versions kept of a path besides the newest (spec §4.9). */
export const VERSIONS_KEPT = 20;

/** One line of a file's history, newest first. */
export interface VersionRow {
  readonly path: string;
  readonly number: number;
  readonly content: number;
  readonly kind: VersionKind;
  /** µs since the epoch. */
  readonly at: number;
  readonly session: string | null;
  readonly machine: string | null;
  readonly bytes: number;
  readonly sha256: Buffer;
  /** Of a merged version, content ids: what was merged against (null when nothing was), and what the session wrote. */
  readonly base: number | null;
  readonly written: number | null;
}

interface VersionColumns extends Omit<NewVersion, 'merge' | 'machine'> {
  readonly at: number;
  readonly machine: number;
  readonly base: number | null;
  readonly written: number | null;
}

const SELECT = `SELECT v.path, v.number, v.content, v.kind, v.at, s.name AS session, m.name AS machine, c.size AS bytes, c.sha256, v.base, v.written
  FROM version v JOIN content c ON c.id = v.content
  LEFT JOIN session s ON s.id = v.session LEFT JOIN machine m ON m.id = v.machine`;

/** Histories of paths. */
export class VersionTable {
  readonly #last;
  readonly #insert;
  readonly #prune;
  readonly #shift;
  readonly #drop;
  readonly #made;
  readonly #byPath;
  readonly #byTree;
  readonly #counts;
  readonly #has;

  constructor(db: Database.Database) {
    this.#last = db
      .prepare<[number, string], number>('SELECT max(number) FROM version WHERE tree = ? AND path = ?')
      .pluck();
    this.#insert = db
      .prepare<[VersionColumns], number>(
        `INSERT INTO version (tree, path, number, content, kind, at, session, machine, base, written)
       VALUES (@tree, @path, (SELECT coalesce(max(number), 0) + 1 FROM version WHERE tree = @tree AND path = @path),
         @content, @kind, @at, @session, @machine, @base, @written) RETURNING number`,
      )
      .pluck();
    this.#prune = db.prepare(
      `DELETE FROM version WHERE tree = ? AND path = ? AND number <=
         (SELECT number FROM version WHERE tree = ? AND path = ? ORDER BY number DESC LIMIT 1 OFFSET ${VERSIONS_KEPT + 1})`,
    );
    this.#shift = db.prepare('UPDATE version SET path = ?, number = number + ? WHERE tree = ? AND path = ?');
    this.#drop = db.prepare('DELETE FROM version WHERE tree = ? AND path = ?');
    this.#made = db.prepare<[number, number, string], { own: number; all: number }>(
      'SELECT count(*) FILTER (WHERE session = ?) AS own, count(*) AS "all" FROM version WHERE tree = ? AND path = ?',
    );
    this.#byPath = db.prepare<[number, string], VersionRow>(
      `${SELECT} WHERE v.tree = ? AND v.path = ? ORDER BY v.number DESC`,
    );
    this.#byTree = db.prepare<[number], VersionRow>(
      `${SELECT} WHERE v.tree = ? ORDER BY v.at DESC, v.path, v.number DESC`,
    );
    this.#has = db.prepare<[number, number], 1>('SELECT 1 FROM version WHERE tree = ? AND content = ? LIMIT 1').pluck();
    this.#counts = db.prepare<[number], { path: string; versions: number; conflicts: number; interrupted: number }>(
      `SELECT path, count(*) AS versions, sum(kind = 'conflict') AS conflicts, sum(kind = 'interrupted') AS interrupted
       FROM version WHERE tree = ? GROUP BY path`,
    );
  }

  add(version: NewVersion, machine: number, at: number): void {
    const { tree, path, content, kind, session, merge } = version;
    const { base = null, written = null } = merge ?? {};
    const number = this.#insert.get({ tree, path, content, kind, at, session, machine, base, written }) ?? 0;
    if (number > VERSIONS_KEPT + 1) this.#prune.run(tree, path, tree, path);
  }

  /** The highest number a path has, 0 when it has no history. */
  lastNumber(tree: number, path: string): number {
    return this.#last.get(tree, path) ?? 0;
  }

  move(tree: number, from: string, to: string): void {
    this.#shift.run(to, this.lastNumber(tree, to), tree, from);
    this.#prune.run(tree, to, tree, to);
  }

  drop(tree: number, path: string): void {
    this.#drop.run(tree, path);
  }

  isOwn(tree: number, path: string, session: number): boolean {
    const { own, all } = this.#made.get(session, tree, path) as { own: number; all: number };
    return all <= 1 && own === all;
  }

  /** True when a content is in the history of a tree. */
  has(tree: number, content: number): boolean {
    return this.#has.get(tree, content) !== undefined;
  }

  of(tree: number, path: string): VersionRow[] {
    return this.#byPath.all(tree, path);
  }

  all(tree: number): VersionRow[] {
    return this.#byTree.all(tree);
  }

  counts(tree: number): Map<string, { versions: number; conflicts: number; interrupted: number }> {
    return new Map(this.#counts.all(tree).map((row) => [row.path, row]));
  }
}
