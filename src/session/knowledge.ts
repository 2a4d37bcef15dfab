import { LRUCache } from 'lru-cache';

/** What one session last knew of one path: content ids. */
export interface Known {
  /** What it was last served, or last wrote, whichever is later; null when it saw the file missing or empty. */
  readonly content: number | null;
  /** What it last wrote itself; undefined when it never did. */
  readonly wrote: number | undefined;
}

/** Sessions and paths remembered. */
const REMEMBERED = 50_000;

/** Remembers what sessions were served and what they wrote, by tree and path (spec §5.2). */
export class Knowledge {
  readonly #known = new LRUCache<string, Known>({ max: REMEMBERED });
  readonly #unsaved = new Map<string, { session: string; name: string; tree: number; path: string; known: Known }>();

  of(session: string, tree: number, path: string): Known | undefined {
    return this.#known.get(keyOf(session, tree, path));
  }

  /** Notes that a session was served a content. */
  served(session: { key: string; name: string }, tree: number, path: string, content: number | null): void {
    const key = keyOf(session.key, tree, path);
    const before = this.#known.get(key);
    if (before && before.content === content) return;
    this.#set(session, key, tree, path, { content, wrote: before?.wrote });
  }

  /** Notes that a session wrote a content, which it knows from then on. */
  wrote(session: { key: string; name: string }, tree: number, path: string, content: number): void {
    this.#set(session, keyOf(session.key, tree, path), tree, path, { content, wrote: content });
  }

  /** What was noted since the last call, to be stored. */
  takeUnsaved(): { session: string; name: string; tree: number; path: string; known: Known }[] {
    const list = [...this.#unsaved.values()];
    this.#unsaved.clear();
    return list;
  }

  #set(session: { key: string; name: string }, key: string, tree: number, path: string, known: Known): void {
    this.#known.set(key, known);
    this.#unsaved.set(key, { session: session.key, name: session.name, tree, path, known });
  }
}

function keyOf(session: string, tree: number, path: string): string {
  return `${session}\0${tree}\0${path}`;
}
