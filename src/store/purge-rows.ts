import type Database from 'better-sqlite3';

/** Somebody who has the same bytes as what was purged, and keeps them. */
export interface Keeper {
  /** Row id of the tree. */
  readonly tree: number;
  readonly path: string;
  readonly as: 'head' | 'version' | 'draft' | 'local file';
}

/** Key in `meta` while a purge has not been followed by `scrub`. */
const UNSCRUBBED = 'unscrubbed';

/** Places where a row of memory points to a content; import bases and what sessions were served do not keep one from being purged. */
const KEEPING = `SELECT content FROM node WHERE content IS NOT NULL UNION SELECT content FROM version
  UNION SELECT base FROM version WHERE base IS NOT NULL UNION SELECT written FROM version WHERE written IS NOT NULL
  UNION SELECT base FROM draft WHERE base IS NOT NULL UNION SELECT first FROM draft WHERE first IS NOT NULL`;

interface LocalFile {
  readonly id: number;
  readonly tree: number;
  readonly size: number;
  /** Null when it was removed, and only somebody who has it open can still read it. */
  readonly parent: number | null;
}

/** The statements of a purge, over every table that has contents or points to them. */
export class PurgeRows {
  readonly #db: Database.Database;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  /** Every content that a path's history, its sessions and its imports name. */
  contentsOf(tree: number, path: string): number[] {
    return this.#db
      .prepare<[{ tree: number; path: string }], number | null>(
        `WITH v AS (SELECT * FROM version WHERE tree = @tree AND path = @path),
           s AS (SELECT * FROM served WHERE tree = @tree AND path = @path),
           i AS (SELECT * FROM import_base WHERE tree = @tree AND coalesce(file, path) = @path)
         SELECT content FROM v UNION SELECT base FROM v UNION SELECT written FROM v
           UNION SELECT content FROM s UNION SELECT sent FROM i UNION SELECT stored FROM i`,
      )
      .pluck()
      .all({ tree, path })
      .filter((id) => id !== null);
  }

  /** Those of the contents that have any bytes, each once. */
  withBytes(contents: readonly number[]): number[] {
    return this.#db
      .prepare<[string], number>('SELECT id FROM content WHERE size > 0 AND id IN (SELECT value FROM json_each(?))')
      .pluck()
      .all(JSON.stringify(contents));
  }

  forgetServed(tree: number, path: string): void {
    this.#db.prepare('DELETE FROM served WHERE tree = ? AND path = ?').run(tree, path);
  }

  /** Drops the versions of a path that have a content, and its part in what others of the path were merged from. */
  dropVersions(tree: number, path: string, content: number): void {
    const at = 'WHERE tree = @tree AND path = @path';
    const row = { tree, path, content };
    this.#db.prepare(`DELETE FROM version ${at} AND content = @content`).run(row);
    this.#db.prepare(`UPDATE version SET base = NULL, written = NULL ${at} AND @content IN (base, written)`).run(row);
  }

  /** Takes the bytes from removed files that somebody may still have open. */
  emptyOrphans(contents: readonly number[]): void {
    this.#db
      .prepare(
        `UPDATE node SET content = NULL, size = 0
         WHERE parent IS NULL AND content IN (SELECT value FROM json_each(?))`,
      )
      .run(JSON.stringify(contents));
  }

  /** Those of the contents that memory still has. */
  referenced(contents: readonly number[]): number[] {
    return this.#db
      .prepare<[string], number>(`SELECT value FROM json_each(?) WHERE value IN (${KEEPING})`)
      .pluck()
      .all(JSON.stringify(contents));
  }

  /** Who has a content. */
  keepers(content: number): Keeper[] {
    const nodes = this.#db
      .prepare<[number], { id: number; tree: number; mount: number }>(
        'SELECT id, tree, mount FROM node WHERE content = ? AND parent IS NOT NULL',
      )
      .all(content)
      .map(({ id, tree, mount }): Keeper => ({ tree, path: this.pathOf(id), as: mount === 0 ? 'head' : 'local file' }));
    const versions = this.#db
      .prepare<[{ content: number }], Keeper>(
        `SELECT DISTINCT tree, path, 'version' AS "as" FROM version WHERE @content IN (content, base, written)`,
      )
      .all({ content });
    const drafts = this.#db
      .prepare<[{ content: number }], Keeper>(
        `SELECT DISTINCT tree, path, 'draft' AS "as" FROM draft WHERE @content IN (base, first)`,
      )
      .all({ content });
    return [...nodes, ...versions, ...drafts];
  }

  /** Deletes contents, whoever was served them; an import base keeps their size and hash. */
  dropContents(contents: readonly number[]): void {
    const ids = JSON.stringify(contents);
    const among = 'IN (SELECT value FROM json_each(@ids))';
    this.#db
      .prepare(
        `INSERT INTO purged (id, size, sha256) SELECT id, size, sha256 FROM content
         WHERE id ${among} AND id IN (SELECT sent FROM import_base UNION SELECT stored FROM import_base)`,
      )
      .run({ ids });
    this.#db.prepare(`DELETE FROM content WHERE id ${among}`).run({ ids });
  }

  /** Sizes of the contents with the given hashes. */
  sizesOf(sha256: readonly Buffer[]): number[] {
    const size = this.#db.prepare<[Buffer], number>('SELECT size FROM content WHERE sha256 = ?').pluck();
    return sha256.flatMap((digest) => size.get(digest) ?? []);
  }

  /** Local files, in blocks, of one of the given sizes. */
  localFiles(sizes: readonly number[]): LocalFile[] {
    return this.#db
      .prepare<[string], LocalFile>(
        `SELECT id, tree, size, parent FROM node
         WHERE mount <> 0 AND kind = 'file' AND content IS NULL AND size IN (SELECT value FROM json_each(?))`,
      )
      .all(JSON.stringify(sizes));
  }

  /** The path of a node in its tree. */
  pathOf(id: number): string {
    const load = this.#db.prepare<[number], { parent: number | null; name: string | null }>(
      'SELECT parent, name FROM node WHERE id = ?',
    );
    const names: string[] = [];
    for (let row = load.get(id); row?.parent != null; row = load.get(row.parent)) names.unshift(row.name ?? '');
    return names.join('/');
  }

  /** Notes that pages and log may still have traces of what was deleted. */
  markUnscrubbed(): void {
    this.#db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, 1)').run(UNSCRUBBED);
  }
}

/** True when a purge was not followed by a complete `scrub`. */
export function needsScrub(db: Database.Database): boolean {
  return db.prepare('SELECT 1 FROM meta WHERE key = ?').get(UNSCRUBBED) !== undefined;
}

/** Notes that no trace is left. */
export function markScrubbed(db: Database.Database): void {
  db.prepare('DELETE FROM meta WHERE key = ?').run(UNSCRUBBED);
}
