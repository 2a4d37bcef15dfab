import type Database from 'better-sqlite3';
import type { RegisteredProcess } from '../ports/process.js';

/** What a process is to its session: `mend run`, the program that it started, or what was left when that ended. */
export type ProcessRole = 'runner' | 'program' | 'left';

/** A process of a named session. */
export interface SessionProcess extends RegisteredProcess {
  readonly role: ProcessRole;
  /** Row id of the session. */
  readonly id: number;
}

/** A session that has a name. Times are µs since the epoch. */
export interface NamedSession {
  /** Row id of the session. */
  readonly id: number;
  readonly name: string;
  readonly harness: string;
  /** Row id of the project. */
  readonly project: number;
  readonly began: number;
  /** When a program of it was last started, or ended. */
  readonly last: number;
  readonly ended: number | null;
}

/** How much a session has to do with memory. */
export interface SessionTrace {
  /** Files that it has read or written, as far as that is remembered. */
  readonly known: number;
  /** Files of which it saved or removed a version that is kept. */
  readonly changed: number;
}

const COLUMNS = 'session AS id, name, harness, project, began, last, ended';

/** The tables `named_session` and `session_process`. Methods that write expect the caller's transaction. */
export class NamedSessions {
  readonly #db: Database.Database;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  /** The session that has a name now. */
  find(name: string): NamedSession | undefined {
    return this.#db
      .prepare<[string], NamedSession>(`SELECT ${COLUMNS} FROM named_session WHERE name = ? AND ended IS NULL`)
      .get(name);
  }

  /** The session that has a name now, else the one that had it last. */
  latest(name: string): NamedSession | undefined {
    return this.#db
      .prepare<[string], NamedSession>(
        `SELECT ${COLUMNS} FROM named_session WHERE name = ? ORDER BY ended IS NOT NULL, session DESC LIMIT 1`,
      )
      .get(name);
  }

  /** All of them, the last used first. */
  list(): NamedSession[] {
    return this.#db
      .prepare<[], NamedSession>(`SELECT ${COLUMNS} FROM named_session ORDER BY last DESC, session DESC`)
      .all();
  }

  /** @param within row id of the session whose process begins it */
  insert(session: Omit<NamedSession, 'last' | 'ended'>, within: number | undefined): void {
    const { id, name, harness, project, began } = session;
    this.#db
      .prepare(
        `INSERT INTO named_session (session, name, chosen, harness, project, begun_in, began, last)
         VALUES (?, ?, 0, ?, ?, ?, ?, ?)`,
      )
      .run(id, name, harness, project, within ?? null, began, began);
  }

  /** A program of the session was started, or ended. */
  touch(id: number, now: number): void {
    this.#db.prepare('UPDATE named_session SET last = ? WHERE session = ?').run(now, id);
  }

  /** A person has named the session. */
  choose(id: number): void {
    this.#db.prepare('UPDATE named_session SET chosen = 1 WHERE session = ?').run(id);
  }

  /** Ends a session: its name is free, and its processes belong to it no more. */
  end(id: number, now: number): void {
    this.#db.prepare('UPDATE named_session SET ended = ? WHERE session = ?').run(now, id);
    this.#db.prepare('DELETE FROM session_process WHERE session = ?').run(id);
  }

  addProcess(space: string, { pid, start }: { pid: number; start: number }, session: number, role: ProcessRole): void {
    this.#db
      .prepare('INSERT OR REPLACE INTO session_process (space, pid, start, session, role) VALUES (?, ?, ?, ?, ?)')
      .run(space, pid, start, session, role);
  }

  removeProcess(space: string, pid: number): void {
    this.#db.prepare('DELETE FROM session_process WHERE space = ? AND pid = ?').run(space, pid);
  }

  /** Forgets the processes of earlier boots. */
  forgetOtherBoots(boot: string): void {
    this.#db.prepare("DELETE FROM session_process WHERE space NOT LIKE ? || '/%'").run(boot);
  }

  /** The processes of all named sessions in a space: one that ended may still be among them. */
  processes(space: string): SessionProcess[] {
    return this.#db
      .prepare<[string], { pid: number; start: number; role: ProcessRole; id: number; key: string; name: string }>(
        `SELECT p.pid, p.start, p.role, s.id, s.key, s.name FROM session_process p
         JOIN session s ON s.id = p.session WHERE p.space = ? ORDER BY p.role DESC, p.pid`,
      )
      .all(space)
      .map(({ pid, start, role, id, key, name }) => ({ pid, start, role, id, session: { key, name } }));
  }

  trace(id: number): SessionTrace {
    const count = (sql: string): number => this.#db.prepare<[number], number>(sql).pluck().get(id) ?? 0;
    return {
      known: count('SELECT count(*) FROM served WHERE session = ?'),
      changed: count('SELECT count(*) FROM (SELECT DISTINCT tree, path FROM version WHERE session = ?)'),
    };
  }
}
