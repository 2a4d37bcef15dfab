import type Database from 'better-sqlite3';
import { NamedSessions } from './named-sessions.js';

/** Sessions that left a trace, and what they last read and wrote. */
export class SessionTable {
  readonly named: NamedSessions;
  readonly #find;
  readonly #insert;
  readonly #served;
  readonly #load;
  readonly #move;
  readonly #forget;
  readonly #known = new Map<string, number>();

  constructor(db: Database.Database) {
    this.named = new NamedSessions(db);
    this.#find = db.prepare<[string], number>('SELECT id FROM session WHERE key = ?').pluck();
    this.#insert = db.prepare('INSERT INTO session (id, key, name, started) VALUES (?, ?, ?, ?)');
    this.#forget = db.prepare(
      `DELETE FROM served WHERE at < @before AND (at < @chosenBefore OR session NOT IN
         (SELECT session FROM named_session WHERE chosen = 1 AND ended IS NULL))`,
    );
    this.#move = db.prepare('UPDATE OR REPLACE served SET path = ? WHERE tree = ? AND path = ?');
    this.#load = db.prepare<[string, number, string], { content: number | null; at: number }>(
      `SELECT served.content, served.at FROM served JOIN session ON session.id = served.session
       WHERE session.key = ? AND served.tree = ? AND served.path = ?`,
    );
    this.#served = db.prepare(
      `INSERT INTO served (session, tree, path, content, at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (session, tree, path) DO UPDATE SET content = excluded.content, at = excluded.at`,
    );
  }

  /** Makes a session under a row id of its own. */
  insert(id: number, key: string, name: string, now: number): void {
    this.#insert.run(id, key, name, now);
  }

  row(key: string, name: string, newId: () => number, now: number): number {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    let id = this.#find.get(key);
    if (id === undefined) {
      id = newId();
      this.#insert.run(id, key, name, now);
    }
    this.#known.set(key, id);
    return id;
  }

  /** Gives what sessions know of a path to another path. */
  moveServed(tree: number, from: string, to: string): void {
    this.#move.run(to, tree, from);
  }

  /** Forgets rows that a transaction made and then did not commit. */
  forgetKnown(): void {
    this.#known.clear();
  }

  saveServed(session: number, tree: number, path: string, content: number | null, at: number): void {
    this.#served.run(session, tree, path, content, at);
  }

  /** What was stored of what a session knows of a path. */
  served(key: string, tree: number, path: string): { content: number | null; at: number } | undefined {
    return this.#load.get(key, tree, path);
  }

  /**
   * Forgets what was served before a time: a session that is still there then starts as one that never looked.
   * @param chosenBefore the time for sessions that a person has named and not ended
   */
  forgetServed(before: number, chosenBefore: number): void {
    this.#forget.run({ before, chosenBefore });
  }
}
