import type Database from 'better-sqlite3';

/** A conversation that is carried with a tree. */
export interface Conversation {
  /** Its id. */
  readonly thread: string;
  /** Path in a home. */
  readonly place: string;
  /** Bytes. */
  readonly size: number;
  /** µs since the epoch. */
  readonly mtime: number;
  readonly sha256: Buffer;
}

/** Conversations that are carried with trees: no memory, and never listed as such. For use within `Store.write`. */
export class ConversationTable {
  readonly #all;
  readonly #put;
  readonly #delete;
  readonly #parts;
  readonly #last;
  readonly #addPart;
  readonly #clearParts;
  readonly #seen;
  readonly #see;
  readonly #unsee;
  readonly #withheld;
  readonly #withhold;

  constructor(db: Database.Database) {
    this.#all = db.prepare<[number], Conversation>(
      'SELECT thread, place, size, mtime, sha256 FROM conversation WHERE tree = ? ORDER BY mtime DESC, thread',
    );
    this.#put = db.prepare(
      `INSERT INTO conversation (tree, thread, place, size, mtime, sha256)
       VALUES (@tree, @thread, @place, @size, @mtime, @sha256)
       ON CONFLICT (tree, thread) DO UPDATE SET place = excluded.place, size = excluded.size, mtime = excluded.mtime,
         sha256 = excluded.sha256`,
    );
    this.#delete = db.prepare('DELETE FROM conversation WHERE tree = ? AND thread = ?');
    this.#parts = db
      .prepare<[number, string], Buffer>(
        'SELECT bytes FROM conversation_part WHERE tree = ? AND thread = ? ORDER BY number',
      )
      .pluck();
    this.#last = db
      .prepare<[number, string], number | null>(
        'SELECT max(number) FROM conversation_part WHERE tree = ? AND thread = ?',
      )
      .pluck();
    this.#addPart = db.prepare('INSERT INTO conversation_part (tree, thread, number, bytes) VALUES (?, ?, ?, ?)');
    this.#clearParts = db.prepare('DELETE FROM conversation_part WHERE tree = ? AND thread = ?');
    this.#seen = db
      .prepare<[number, string], string>('SELECT thread FROM conversation_seen WHERE tree = ? AND home = ?')
      .pluck();
    this.#see = db.prepare('INSERT OR IGNORE INTO conversation_seen (tree, home, thread) VALUES (?, ?, ?)');
    this.#unsee = db.prepare('DELETE FROM conversation_seen WHERE tree = ? AND home = ? AND thread = ?');
    this.#withheld = db.prepare<[number], string>('SELECT thread FROM withheld WHERE tree = ?').pluck();
    this.#withhold = db.prepare('INSERT OR IGNORE INTO withheld (tree, thread) VALUES (?, ?)');
  }

  /** Newest first. */
  of(tree: number): Conversation[] {
    return this.#all.all(tree);
  }

  bytes(tree: number, thread: string): Buffer {
    return Buffer.concat(this.#parts.all(tree, thread));
  }

  /**
   * Stores a conversation. @param bytes all of it, or what was added to it
   * @param grown whether it is what was added
   */
  put(tree: number, conversation: Conversation, bytes: Buffer, grown: boolean): void {
    const { thread } = conversation;
    this.#put.run({ tree, ...conversation });
    if (!grown) this.#clearParts.run(tree, thread);
    if (bytes.length > 0) this.#addPart.run(tree, thread, (this.#last.get(tree, thread) ?? 0) + 1, bytes);
  }

  delete(tree: number, thread: string): void {
    this.#delete.run(tree, thread);
  }

  /** The conversations that a home (an id) had. */
  seen(tree: number, home: string): Set<string> {
    return new Set(this.#seen.all(tree, home));
  }

  see(tree: number, home: string, thread: string): void {
    this.#see.run(tree, home, thread);
  }

  unsee(tree: number, home: string, thread: string): void {
    this.#unsee.run(tree, home, thread);
  }

  /** Conversations that are not carried, since a shared session may have held them. */
  withheld(tree: number): Set<string> {
    return new Set(this.#withheld.all(tree));
  }

  withhold(tree: number, threads: readonly string[]): void {
    for (const thread of threads) this.#withhold.run(tree, thread);
  }
}
