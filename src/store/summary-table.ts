import type Database from 'better-sqlite3';

/** The summary of one conversation, as it is carried with a tree. */
export interface Summary {
  /** The id of the conversation. */
  readonly thread: string;
  /** When the conversation that was summed up had changed last, and when that was done: seconds since the epoch. */
  readonly updated: number;
  readonly generated: number;
  /** Columns of the harness's own table, in JSON. */
  readonly row: string;
  /** What there is to say of the conversation without anything that was said in it, in JSON; null when nothing is known. */
  readonly meta: string | null;
}

/** A database of a home, as it was taken in last. */
export interface SummarySource {
  /** Tells it from another one that takes its place. */
  readonly made: string;
  /** When the copy was begun, µs since the epoch. */
  readonly taken: number;
  /** Why it was not taken in; goes on after "it". */
  readonly refused: string | null;
}

/** A database without rows. */
export interface SummaryTemplate {
  readonly edition: number;
  readonly progress: number;
  readonly bytes: Buffer;
}

/** Which database of which home of a tree. */
export interface SourceKey {
  readonly tree: number;
  /** The id of the home. */
  readonly home: string;
  /** The file name of the database. */
  readonly source: string;
}

/** Summaries that are carried with trees, and what homes and store had in common last. For use within `Store.write`. */
export class SummaryTable {
  readonly #all;
  readonly #fingerprint;
  readonly #put;
  readonly #delete;
  readonly #bases;
  readonly #putBase;
  readonly #deleteBase;
  readonly #clearBases;
  readonly #source;
  readonly #putSource;
  readonly #knows;
  readonly #refused;
  readonly #template;
  readonly #putTemplate;

  constructor(db: Database.Database) {
    this.#all = db.prepare<[number], Summary>(
      'SELECT thread, updated, generated, row, meta FROM summary WHERE tree = ? ORDER BY thread',
    );
    this.#fingerprint = db
      .prepare<[number], string>(
        `SELECT count(*) || ' ' || total(updated) || ' ' || total(generated) || ' ' || total(length(row)) || ' ' ||
           total(row ->> '$.last_usage') FROM summary WHERE tree = ?`,
      )
      .pluck();
    this.#put = db.prepare(
      `INSERT INTO summary (tree, thread, updated, generated, row, meta)
       VALUES (@tree, @thread, @updated, @generated, @row, @meta)
       ON CONFLICT (tree, thread) DO UPDATE SET updated = excluded.updated, generated = excluded.generated,
         row = excluded.row, meta = coalesce(excluded.meta, meta)`,
    );
    this.#delete = db.prepare('DELETE FROM summary WHERE tree = ? AND thread = ?');
    const key = 'tree = @tree AND home = @home AND source = @source';
    this.#bases = db.prepare<[SourceKey], { thread: string; sha256: Buffer }>(
      `SELECT thread, sha256 FROM summary_base WHERE ${key}`,
    );
    this.#putBase = db.prepare(
      `INSERT INTO summary_base (tree, home, source, thread, sha256) VALUES (@tree, @home, @source, @thread, @sha256)
       ON CONFLICT DO UPDATE SET sha256 = excluded.sha256`,
    );
    this.#deleteBase = db.prepare(`DELETE FROM summary_base WHERE ${key} AND thread = @thread`);
    this.#clearBases = db.prepare(`DELETE FROM summary_base WHERE ${key}`);
    this.#source = db.prepare<[SourceKey], SummarySource>(
      `SELECT made, taken, refused FROM summary_source WHERE ${key}`,
    );
    this.#putSource = db.prepare(
      `INSERT INTO summary_source (tree, home, source, made, taken, refused)
       VALUES (@tree, @home, @source, @made, @taken, @refused)
       ON CONFLICT DO UPDATE SET made = excluded.made, taken = excluded.taken, refused = excluded.refused`,
    );
    this.#knows = db.prepare<[number, string]>('SELECT 1 FROM summary_source WHERE tree = ? AND home = ?');
    this.#refused = db.prepare<[number, string], { source: string; refused: string }>(
      'SELECT source, refused FROM summary_source WHERE tree = ? AND home = ? AND refused IS NOT NULL ORDER BY source',
    );
    this.#template = db.prepare<[number, string], SummaryTemplate>(
      'SELECT edition, progress, bytes FROM summary_template WHERE tree = ? AND source = ?',
    );
    this.#putTemplate = db.prepare(
      `INSERT INTO summary_template (tree, source, edition, progress, bytes)
       VALUES (@tree, @source, @edition, @progress, @bytes)
       ON CONFLICT DO UPDATE SET edition = excluded.edition, progress = excluded.progress, bytes = excluded.bytes`,
    );
  }

  of(tree: number): Summary[] {
    return this.#all.all(tree);
  }

  /** Changes whenever the summaries of a tree do. */
  fingerprint(tree: number): string {
    return this.#fingerprint.get(tree) ?? '';
  }

  /** What is known of the conversation already stays where the new row knows nothing. */
  put(tree: number, summary: Summary): void {
    this.#put.run({ tree, ...summary });
  }

  delete(tree: number, thread: string): void {
    this.#delete.run(tree, thread);
  }

  /** SHA-256 of the rows that a home and the store had in common last, by conversation. */
  bases(key: SourceKey): Map<string, Buffer> {
    return new Map(this.#bases.all(key).map(({ thread, sha256 }) => [thread, sha256]));
  }

  putBase(key: SourceKey, thread: string, sha256: Buffer): void {
    this.#putBase.run({ ...key, thread, sha256 });
  }

  deleteBase(key: SourceKey, thread: string): void {
    this.#deleteBase.run({ ...key, thread });
  }

  /** Forgets what was in common: another database is in its place. */
  clearBases(key: SourceKey): void {
    this.#clearBases.run(key);
  }

  source(key: SourceKey): SummarySource | undefined {
    return this.#source.get(key);
  }

  putSource(key: SourceKey, source: SummarySource): void {
    this.#putSource.run({ ...key, ...source });
  }

  /** Whether a database of a home was ever looked at for a tree. */
  knows(tree: number, home: string): boolean {
    return this.#knows.get(tree, home) !== undefined;
  }

  /** The databases of a home that were refused when they were looked at last. */
  refused(tree: number, home: string): { readonly source: string; readonly refused: string }[] {
    return this.#refused.all(tree, home);
  }

  template(tree: number, source: string): SummaryTemplate | undefined {
    return this.#template.get(tree, source);
  }

  putTemplate(tree: number, source: string, template: SummaryTemplate): void {
    this.#putTemplate.run({ tree, source, ...template });
  }
}
