import type { Known } from '../session/knowledge.js';
import type { Session } from '../session/session.js';
import type { FileNode } from './node.js';

/** Bytes that one session has written to one file and not yet saved; every process of the session sees them. */
export class Draft {
  readonly id: number;
  readonly session: Session;
  readonly node: FileNode;
  /** Open handles that lead here. */
  handles = 0;
  /** Something was written, truncated or created that is not saved yet. */
  dirty = false;
  /** The store has rows of this draft; while false and dirty, there is nothing yet that could be lost. */
  stored = false;
  /** Rows of writes in the store. */
  writes = 0;
  /** The content it started from; null when the file was empty or missing. */
  base: number | null = null;
  size = 0;
  mtime = 0;
  /** The modification time was set by the session (utimensat(2)) after its last write. */
  timeSet = false;
  /** Bytes of the quota that are held for it. */
  claimed = 0;
  /** When it began, in µs since the epoch. */
  begun = 0;
  /** What its session knew of the file at the last write: what comes later did not go into the text. */
  known: Known | undefined;
  /** The process that wrote last. */
  writer = 0;
  /** Bytes of the base from `#covered` to here are still in the draft. */
  #left = 0;
  /** The base has no bytes. */
  #empty = false;
  /** Bytes from the start that were written over without a gap. */
  #covered = 0;
  /** How much of the base was left in it when its writes were last put together into one row. */
  folded: { readonly covered: number; readonly left: number } | undefined;
  /** Newest modification time of this draft that its session was told. */
  shown = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(id: number, session: Session, node: FileNode) {
    this.id = id;
    this.session = session;
    this.node = node;
  }

  /** Starts a new draft from the bytes of a content. */
  begin(base: number | null, bytes: Buffer, now: number): void {
    this.base = base;
    this.#bytes = Buffer.from(bytes);
    this.size = bytes.length;
    this.dirty = true;
    this.begun = now;
    this.#left = bytes.length;
    this.#empty = bytes.length === 0;
    this.#covered = 0;
    this.mtime = this.timeAt(now);
    this.timeSet = false;
  }

  /**
   * Starts again from what a process that died has stored.
   * @param bytes the bytes of the base, or those that the stored writes start from in their place (`replaced`)
   */
  resume(base: number | null, bytes: Buffer, empty: boolean, replaced: boolean): void {
    this.base = base;
    this.#bytes = Buffer.from(bytes);
    this.size = bytes.length;
    this.dirty = true;
    this.#empty = empty;
    this.#covered = replaced ? (this.folded?.covered ?? bytes.length) : 0;
    this.#left = replaced ? (this.folded?.left ?? 0) : bytes.length;
  }

  /** Does again what a stored write did; `data` null truncates to `position`. */
  replay(position: number, data: Buffer | null, at: number | null): void {
    const { mtime, timeSet } = this;
    if (data) this.write(position, data, 0);
    else this.truncate(position, 0);
    this.mtime = at ?? mtime;
    this.timeSet = timeSet;
  }

  /** The modification time that a change gives it now. */
  timeAt(now: number): number {
    return this.node.nextTime(now, this.shown);
  }

  /** Notes that its writes become one row. */
  fold(): void {
    this.folded = { covered: this.#covered, left: this.#left };
  }

  /** True while bytes of its base are left in it: an append, or a change in the middle. */
  get keepsBase(): boolean {
    return this.#covered < this.#left;
  }

  /** True when it began with an empty file. */
  get beganEmpty(): boolean {
    return this.#empty;
  }

  /** A view of the bytes as they are now; copy it to keep it. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.size);
  }

  write(position: number, data: Buffer, now: number): void {
    const end = position + data.length;
    this.#reserve(end);
    data.copy(this.#bytes, position);
    if (position <= this.#covered && end > this.#covered) this.#covered = end;
    if (end > this.size) this.size = end;
    this.#touch(now);
  }

  truncate(size: number, now: number): void {
    this.#reserve(size);
    if (size < this.size) this.#bytes.fill(0, size, this.size);
    this.#left = Math.min(this.#left, size);
    this.#covered = Math.min(this.#covered, size);
    this.size = size;
    this.#touch(now);
  }

  /** Forgets the bytes: they were saved, or kept as a version. */
  end(): void {
    this.dirty = false;
    this.stored = false;
    this.writes = 0;
    this.folded = undefined;
    this.size = 0;
    this.#bytes = Buffer.alloc(0);
  }

  #touch(now: number): void {
    this.mtime = this.timeAt(now);
    this.timeSet = false;
  }

  /** Makes room; what lies beyond `size` in the buffer is always zero. */
  #reserve(length: number): void {
    if (length <= this.#bytes.length) return;
    const grown = Buffer.alloc(Math.max(length, Math.min(this.#bytes.length * 2, 1 << 24), 4096));
    this.#bytes.copy(grown, 0, 0, this.size);
    this.#bytes = grown;
  }
}
