import { LRUCache } from 'lru-cache';
import { type Journal, noJournal } from '../ports/journal.js';
import type { Session } from './session.js';

/** A content that a session knew at a time; null when it saw the file missing or empty. Times are µs since the epoch. */
export interface Sight {
  readonly content: number | null;
  readonly at: number;
}

/** A content that a process read, once or several times at once; `at` is the first of them. */
export interface Reading extends Sight {
  readonly pid: number;
  readonly times: number;
}

/** What one session knows of one path. */
export interface Known {
  /** What it last wrote, or knew before its last read. */
  readonly settled: Sight | undefined;
  /** What it read last, unless it wrote since. */
  readonly read: Reading | undefined;
  /** The last read may only have looked at what its process had just written: it settles nothing. */
  readonly echo: boolean;
  /** What such a look before the last read showed. */
  readonly looked: Sight | undefined;
}

/** What a process saved, and has not looked at since. */
export interface Unread {
  readonly pid: number;
  readonly content: number;
}

/** One row to be stored: the content known last. */
export interface UnsavedKnowledge extends Sight {
  readonly session: Session;
  readonly tree: number;
  readonly path: string;
}

/** How long, in µs, a read and what the same process does next belong together: another read, or a save. */
export const AT_ONCE = 2_000_000;
/** How long after its save, in µs, a process that reads the file may only be looking at what it has written. */
export const ECHO = 20_000;
/** Paths remembered, and sessions of each. */
const REMEMBERED = 20_000;
const SESSIONS = 256;

interface Remembered extends Known {
  /** The process that wrote what is settled, 0 for none. */
  readonly by: number;
}

/** How long, in µs, what was noted before a takeover may not be in the store yet. */
const UNSTORED = 60_000_000;

/** What is noted of one path for a process that takes over. */
interface KnowledgeNote extends Remembered {
  readonly session: Session;
  readonly tree: number;
  readonly path: string;
}

/** Remembers what sessions read and what they wrote, by tree and path (spec §5.2). */
export class Knowledge {
  /** By session, for each path of a tree. */
  readonly #paths: LRUCache<string, Map<string, Remembered>>;
  readonly #journal: Journal;
  /** Names of sessions by their keys. */
  readonly #names = new LRUCache<string, string>({ max: REMEMBERED });
  /** Sessions and paths of which nothing is stored, so that the store is asked once. */
  readonly #absent = new LRUCache<string, true>({ max: REMEMBERED });
  readonly #unsaved = new Map<string, UnsavedKnowledge>();
  readonly #stored: (session: string, tree: number, path: string) => Sight | undefined;

  /** @param stored what an earlier daemon stored of a session that may still be there */
  constructor(
    stored: (session: string, tree: number, path: string) => Sight | undefined = () => undefined,
    journal: Journal = noJournal,
  ) {
    this.#stored = stored;
    this.#journal = journal;
    this.#paths = new LRUCache<string, Map<string, Remembered>>({
      max: REMEMBERED,
      dispose: (sessions, key, reason) => {
        if (reason === 'evict') for (const session of sessions.keys()) journal.note(noteKey(session, key), undefined);
      },
    });
  }

  /** Takes over what an earlier process knew. */
  resume(now: number): void {
    const notes = [...this.#journal.left('k/').values()] as KnowledgeNote[];
    // What was used last is forgotten last. The order of the notes is that in which they were made first.
    notes.sort((a, b) => usedAt(a) - usedAt(b));
    for (const { session, tree, path, ...known } of notes) {
      this.#names.set(session.key, session.name);
      this.#of(tree, path).set(session.key, { ...UNKNOWN, ...known });
      const last = known.echo ? known.settled : (known.read ?? known.settled);
      if (last && now - last.at < UNSTORED) this.#note({ session, tree, path, content: last.content, at: last.at });
    }
  }

  of(session: string, tree: number, path: string): Known | undefined {
    const known = this.#paths.get(keyOf(tree, path))?.get(session);
    if (known) return known;
    const key = `${session}\0${keyOf(tree, path)}`;
    // What is not stored yet is newer than what is.
    const settled = this.#unsaved.get(key) ?? (this.#absent.has(key) ? undefined : this.#stored(session, tree, path));
    if (!settled) {
      this.#absent.set(key, true);
      return undefined;
    }
    const { content, at } = settled;
    const remembered = { settled: { content, at }, read: undefined, by: 0, echo: false, looked: undefined };
    this.#of(tree, path).set(session, remembered);
    return remembered;
  }

  /** The content that a session knew last; undefined when it never looked. */
  latest(session: string, tree: number, path: string): number | null | undefined {
    const known = this.of(session, tree, path);
    return (known?.read ?? known?.settled)?.content;
  }

  /**
   * Notes that a process of a session read a file to its end. What was known before is settled then, unless that was a
   * look of the process at what it had just written (Claude Code looks after each save): the text it shows its model is
   * still what it wrote.
   */
  read(session: Session, tree: number, path: string, content: number | null, pid: number, at: number): void {
    const before = this.of(session.key, tree, path) as Remembered | undefined;
    const last = before?.read;
    const by = before?.by ?? 0;
    const echo = by === pid && pid !== 0 && !(last && !before?.echo) && at - (before?.settled?.at ?? 0) <= ECHO;
    const again = !before?.echo && last?.pid === pid && last.content === content && at - last.at <= AT_ONCE;
    const settled = before?.echo || again ? before?.settled : (last ?? before?.settled);
    const still = settled === before?.settled ? by : 0;
    // That it was read several times says no more than that it was read twice.
    if (again && last.times > 1) return;
    const read = again ? { ...last, times: last.times + 1 } : { content, pid, at, times: 1 };
    const looked = before?.echo ? last : again ? before?.looked : undefined;
    this.#set(session, tree, path, { settled, read, by: still, echo, looked });
  }

  /** What processes wrote that have not read the file since, where that is not its head and was not before `since`. */
  unread(tree: number, path: string, head: number, since: number): readonly Unread[] {
    const unread: Unread[] = [];
    for (const { settled, read, by } of this.#paths.get(keyOf(tree, path))?.values() ?? [])
      if (by !== 0 && !read && settled && settled.content !== head && settled.content !== null && settled.at > since)
        unread.push({ pid: by, content: settled.content });
    return unread;
  }

  /** Notes that a session read a part of a file. That counts only where it knows nothing else. */
  readPart(session: Session, tree: number, path: string, content: number | null, at: number): void {
    if (this.of(session.key, tree, path)) return;
    this.#set(session, tree, path, {
      settled: { content, at },
      read: undefined,
      by: 0,
      echo: false,
      looked: undefined,
    });
  }

  /** Notes that a process of a session wrote a content, which the session knows from then on. */
  wrote(session: Session, tree: number, path: string, content: number, pid: number, at: number): void {
    this.#set(session, tree, path, {
      settled: { content, at },
      read: undefined,
      by: pid,
      echo: false,
      looked: undefined,
    });
  }

  /** Notes that the save that `wrote` told of has been answered just now: a look at it can follow from here on. */
  answered(session: string, tree: number, path: string, at: number): void {
    const known = this.#paths.get(keyOf(tree, path))?.get(session);
    if (known?.settled && known.by !== 0 && !known.read)
      this.#put(this.#named(session), tree, path, { ...known, settled: { ...known.settled, at } });
  }

  /** Notes that a session saw that there is no such file, or took it away itself. */
  missed(session: Session, tree: number, path: string, at: number): void {
    const before = this.of(session.key, tree, path);
    const known = { settled: { content: null, at }, read: undefined, by: 0, echo: false, looked: undefined };
    // Worth a row only where it outdates one.
    if (before && this.latest(session.key, tree, path) !== null) this.#set(session, tree, path, known);
    else this.#put(session, tree, path, known);
  }

  /** A file, or all below a folder, has another path: sessions know it under that. The store moves its rows itself. */
  move(tree: number, from: string, to: string): void {
    this.#absent.clear();
    const start = keyOf(tree, from);
    for (const key of [...this.#paths.keys()]) {
      if (key !== start && !key.startsWith(`${start}/`)) continue;
      const known = this.#paths.get(key);
      this.#paths.delete(key);
      const now = keyOf(tree, to) + key.slice(start.length);
      // Who knows nothing of the file goes on knowing what it saw there before it came.
      if (!known) continue;
      this.#paths.set(now, new Map([...(this.#paths.get(now) ?? []), ...known]));
      const path = to + key.slice(start.length);
      for (const [session, remembered] of known) {
        this.#journal.note(noteKey(session, key), undefined);
        this.#noteKnown(this.#named(session), tree, path, remembered);
      }
    }
    for (const [key, row] of [...this.#unsaved]) {
      if (row.tree !== tree || (row.path !== from && !row.path.startsWith(`${from}/`))) continue;
      this.#unsaved.delete(key);
      this.#note({ ...row, path: to + row.path.slice(from.length) });
    }
  }

  /** What was noted since the last call, to be stored. */
  takeUnsaved(): UnsavedKnowledge[] {
    const list = [...this.#unsaved.values()];
    this.#unsaved.clear();
    return list;
  }

  #of(tree: number, path: string): Map<string, Remembered> {
    const key = keyOf(tree, path);
    let sessions = this.#paths.get(key);
    if (!sessions) {
      sessions = new Map();
      this.#paths.set(key, sessions);
    }
    return sessions;
  }

  #set(session: Session, tree: number, path: string, known: Remembered): void {
    const sessions = this.#of(tree, path);
    // The session that was heard of last is the last to be forgotten.
    sessions.delete(session.key);
    this.#put(session, tree, path, known);
    if (sessions.size > SESSIONS) {
      const [oldest = ''] = sessions.keys();
      sessions.delete(oldest);
      this.#journal.note(noteKey(oldest, keyOf(tree, path)), undefined);
    }
    const last = known.echo ? known.settled : (known.read ?? known.settled);
    this.#note({ session, tree, path, content: last?.content ?? null, at: last?.at ?? 0 });
  }

  #put(session: Session, tree: number, path: string, known: Remembered): void {
    this.#of(tree, path).set(session.key, known);
    this.#names.set(session.key, session.name);
    this.#noteKnown(session, tree, path, known);
  }

  #named(key: string): Session {
    return { key, name: this.#names.get(key) ?? '' };
  }

  /** Notes what a session knows for a process that takes over. */
  #noteKnown(session: Session, tree: number, path: string, known: Remembered): void {
    this.#journal.note(noteKey(session.key, keyOf(tree, path)), () => ({ session, tree, path, ...known }));
  }

  #note(row: UnsavedKnowledge): void {
    const key = `${row.session.key}\0${keyOf(row.tree, row.path)}`;
    this.#absent.delete(key);
    this.#unsaved.set(key, row);
  }
}

const UNKNOWN: Remembered = { settled: undefined, read: undefined, by: 0, echo: false, looked: undefined };

function usedAt({ settled, read }: Known): number {
  return Math.max(settled?.at ?? 0, read?.at ?? 0);
}

function noteKey(session: string, path: string): string {
  return `k/${session}\0${path}`;
}

function keyOf(tree: number, path: string): string {
  return `${tree}\0${path}`;
}
