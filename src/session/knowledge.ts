import { LRUCache } from 'lru-cache';
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
}

/** What is stored of it: the content known last, and the content written last. */
export interface StoredKnowledge {
  readonly content: number | null;
  readonly wrote: number | null;
}

/** One row to be stored. */
export interface UnsavedKnowledge extends StoredKnowledge {
  readonly session: Session;
  readonly tree: number;
  readonly path: string;
}

/** How long, in µs, a read and what the same process does next belong together: another read, or a save. */
export const AT_ONCE = 2_000_000;
/** How long after its save, in µs, a process that reads the file may only be looking at what it has written. */
export const ECHO = 20_000;
/** Sessions and paths remembered. */
const REMEMBERED = 50_000;

interface Remembered extends Known {
  readonly wrote: number | null;
  /** The process that wrote what is settled, 0 for none. */
  readonly by: number;
  /** The last read only looked at what its process had just written: it settles nothing. */
  readonly echo: boolean;
}

/** Remembers what sessions read and what they wrote, by tree and path (spec §5.2). */
export class Knowledge {
  readonly #known = new LRUCache<string, Remembered>({ max: REMEMBERED });
  readonly #unsaved = new Map<string, UnsavedKnowledge>();
  readonly #stored: (session: string, tree: number, path: string) => StoredKnowledge | undefined;

  /** @param stored what an earlier daemon stored of a session that may still be there */
  constructor(stored: (session: string, tree: number, path: string) => StoredKnowledge | undefined = () => undefined) {
    this.#stored = stored;
  }

  of(session: string, tree: number, path: string): Known | undefined {
    return this.#find(session, keyOf(session, tree, path), tree, path);
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
    const key = keyOf(session.key, tree, path);
    const before = this.#find(session.key, key, tree, path);
    const { wrote = null, by = 0 } = before ?? {};
    const echo = by === pid && pid !== 0 && !(before?.read && !before.echo) && at - (before?.settled?.at ?? 0) <= ECHO;
    const last = before?.read;
    const again = last?.pid === pid && last.content === content && at - last.at <= AT_ONCE && !before?.echo;
    const settled = before?.echo || again ? before?.settled : (last ?? before?.settled);
    const still = settled === before?.settled ? by : 0;
    const read = again ? { ...last, times: last.times + 1 } : { content, pid, at, times: 1 };
    this.#set(session, key, tree, path, { settled, read, wrote, by: still, echo });
  }

  /** Notes that a session read a part of a file. That counts only where it knows nothing else. */
  readPart(session: Session, tree: number, path: string, content: number | null, at: number): void {
    const key = keyOf(session.key, tree, path);
    if (this.#find(session.key, key, tree, path)) return;
    this.#set(session, key, tree, path, { settled: { content, at }, read: undefined, wrote: null, by: 0, echo: false });
  }

  /** Notes that a session wrote a content, which it knows from then on. */
  wrote(session: Session, tree: number, path: string, content: number, pid: number, at: number): void {
    const key = keyOf(session.key, tree, path);
    this.#set(session, key, tree, path, {
      settled: { content, at },
      read: undefined,
      wrote: content,
      by: pid,
      echo: false,
    });
  }

  /** Notes that a session saw that there is no such file, or took it away itself. */
  missed(session: Session, tree: number, path: string, at: number): void {
    const key = keyOf(session.key, tree, path);
    const before = this.#known.get(key);
    if (before?.settled?.content === null && !before.read) return;
    const known = { settled: { content: null, at }, read: undefined, wrote: null, by: 0, echo: false };
    // Worth a row only where it outdates one.
    if (before) this.#set(session, key, tree, path, known);
    else this.#known.set(key, known);
  }

  /** What was noted since the last call, to be stored. */
  takeUnsaved(): UnsavedKnowledge[] {
    const list = [...this.#unsaved.values()];
    this.#unsaved.clear();
    return list;
  }

  #find(session: string, key: string, tree: number, path: string): Remembered | undefined {
    const known = this.#known.get(key);
    if (known) return known;
    const stored = this.#stored(session, tree, path);
    if (!stored) return undefined;
    const settled = { content: stored.content, at: 0 };
    const remembered = { settled, read: undefined, wrote: stored.wrote, by: 0, echo: false };
    this.#known.set(key, remembered);
    return remembered;
  }

  #set(session: Session, key: string, tree: number, path: string, known: Remembered): void {
    this.#known.set(key, known);
    const content = (known.read ?? known.settled)?.content ?? null;
    this.#unsaved.set(key, { session, tree, path, content, wrote: known.wrote });
  }
}

function keyOf(session: string, tree: number, path: string): string {
  return `${session}\0${tree}\0${path}`;
}
