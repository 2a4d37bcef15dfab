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
  /** Since when several people steer it; null when that was never said. */
  readonly shared: number | null;
}

/** A session that several people steer, and that was not ended. */
export interface SharedSession {
  /** Row id of the session. */
  readonly id: number;
  readonly key: string;
  readonly name: string;
  /** Row id of the project that it was started for. */
  readonly project: number;
  readonly harness: string;
  /** Numbers what it sees in the place of memory. */
  readonly slot: number;
}

/** How much a session has to do with memory. */
export interface SessionTrace {
  /** Files that it has read or written, as far as that is remembered. */
  readonly known: number;
  /** Files of which it saved or removed a version that is kept. */
  readonly changed: number;
}

const COLUMNS = `session AS id, name, harness, project, began, last, ended,
  (SELECT at FROM shared_session s WHERE s.session = named_session.session) AS shared`;

/** The tables `named_session`, `shared_session` and `session_process`. Methods that write expect the caller's transaction. */
export class NamedSessions {
  readonly #db: Database.Database;
  readonly #shared;
  readonly #processes;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#shared = db.prepare<[], SharedSession>(
      `SELECT s.id, s.key, n.name, n.project, n.harness, h.slot FROM shared_session h
       JOIN named_session n ON n.session = h.session JOIN session s ON s.id = h.session WHERE n.ended IS NULL`,
    );
    this.#processes = db.prepare<
      [string],
      { pid: number; start: number; role: ProcessRole; id: number; key: string; name: string; shared: number }
    >(
      `SELECT p.pid, p.start, p.role, s.id, s.key, s.name,
         EXISTS (SELECT 1 FROM shared_session h WHERE h.session = s.id) AS shared
       FROM session_process p JOIN session s ON s.id = p.session WHERE p.space = ? ORDER BY p.role DESC, p.pid`,
    );
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
  insert(session: Omit<NamedSession, 'last' | 'ended' | 'shared'>, within: number | undefined): void {
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

  /** Several people steer a session from now on; nothing takes that back. */
  share(id: number, now: number): void {
    this.#db
      .prepare(
        `INSERT INTO shared_session (session, slot, at)
         VALUES (?, (SELECT coalesce(max(slot), 0) + 1 FROM shared_session), ?) ON CONFLICT (session) DO NOTHING`,
      )
      .run(id, now);
  }

  /** Row ids of the sessions that were begun within a session, and were not ended. */
  begunWithin(id: number): number[] {
    return this.#db
      .prepare<[number], number>('SELECT session FROM named_session WHERE begun_in = ? AND ended IS NULL')
      .pluck()
      .all(id);
  }

  /** The sessions that several people steer, but for those that were ended. */
  shared(): SharedSession[] {
    return this.#shared.all();
  }

  /** Whether processes of a session are known that are seen in another space only. */
  runsElsewhere(id: number, space: string): boolean {
    const boot = space.slice(0, space.indexOf('/') + 1);
    return (
      this.#db
        .prepare('SELECT 1 FROM session_process WHERE session = ? AND space <> ? AND substr(space, 1, ?) = ?')
        .get(id, space, boot.length, boot) !== undefined
    );
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
    return this.#processes.all(space).map(({ pid, start, role, id, key, name, shared }) => ({
      ...{ pid, start, role, id, session: { key, name } },
      ...(shared === 1 ? { shared: true as const } : {}),
    }));
  }

  trace(id: number): SessionTrace {
    const count = (sql: string): number => this.#db.prepare<[number], number>(sql).pluck().get(id) ?? 0;
    return {
      known: count('SELECT count(*) FROM served WHERE session = ?'),
      changed: count('SELECT count(*) FROM (SELECT DISTINCT tree, path FROM version WHERE session = ?)'),
    };
  }
}
