import type { Session } from '../session/session.js';
import type { Draft } from './draft.js';
import type { FileNode } from './node.js';

/** What an open file is to the tree. A handle of a kernel (`fh`) names its kind, its serial number, and a row. */
interface Opened {
  /** Number in the table of its mount. */
  serial: number;
  /** The kernel's number of the request that opened it, by which it is found when that is sent again; 0 when not known. */
  opening: number;
  /** Its last copy is closed and what follows from that is under way: nothing is done through it any more. */
  leaving?: boolean;
}

export interface ReadHandle extends Opened {
  readonly kind: 'read';
  readonly node: FileNode;
  readonly session: Session;
  readonly pid: number;
  /** The content it reads: the head when it was opened, or what its own session saved since; null reads as empty. */
  content: number | null;
  /** Its process has read to the end, and is told of newer heads from then on. */
  finished: boolean;
  /** Bytes read from the start without a gap. */
  readTo: number;
}

export interface WriteHandle extends Opened {
  readonly kind: 'write';
  readonly node: FileNode;
  readonly session: Session;
  readonly draft: Draft;
  /** What it shows while the draft is clean. */
  snapshot: number | null;
  /** Processes that wrote through it since the last save: only their `close` saves. */
  readonly writers: Set<number>;
  /**
   * The process that truncated or created the file by opening it, until somebody writes. A shell closes the first
   * copy of a redirection's descriptor before it writes through another: that close saves nothing.
   */
  opener: number | undefined;
  /** Bytes read from the start without a gap; -1 once all were. */
  readTo: number;
  /** The kernel told of a close. */
  closed: boolean;
}

const NEW = { serial: 0, opening: 0 };

export function readHandle(node: FileNode, session: Session, pid: number, content: number | null): ReadHandle {
  return { kind: 'read', ...NEW, node, session, pid, content, finished: false, readTo: 0 };
}

/** A handle that leads to a draft; while the draft is clean it shows `snapshot`. */
export function writeHandle(draft: Draft, snapshot: number | null, opener?: number): WriteHandle {
  const { node, session } = draft;
  const writers = new Set<number>();
  return { kind: 'write', ...NEW, node, session, draft, snapshot, writers, opener, readTo: 0, closed: false };
}

export interface LocalHandle extends Opened {
  readonly kind: 'local';
  readonly node: FileNode;
  readonly session: Session;
  readonly pid: number;
  readonly writable: boolean;
  /** Something was written through it that no version holds. */
  wrote: boolean;
}

export function localHandle(node: FileNode, session: Session, pid: number, writable: boolean): LocalHandle {
  return { kind: 'local', ...NEW, node, session, pid, writable, wrote: false };
}

export type Handle = ReadHandle | WriteHandle | LocalHandle;

/** The two halves of a kernel's 64-bit file handle. */
export interface Fh {
  readonly high: number;
  readonly low: number;
}

const KINDS = ['read', 'write', 'local'] as const;
const SERIALS = 1 << 20;
const TWO_32 = 4294967296;

/** Bits of `fh`: kind 60–63, serial 40–59, row id 0–39 (content of a read handle, draft of a write handle, node of a local one). */
export function encodeFh(kind: Handle['kind'], serial: number, id: number): Fh {
  return { high: ((KINDS.indexOf(kind) << 28) | (serial << 8) | Math.floor(id / TWO_32)) >>> 0, low: id >>> 0 };
}

/** The parts of an `fh`; kind is undefined for one that mend never gave out. */
export function decodeFh(fh: Fh): { kind: Handle['kind'] | undefined; serial: number; id: number } {
  return {
    kind: KINDS[fh.high >>> 28],
    serial: (fh.high >>> 8) & (SERIALS - 1),
    id: (fh.high & 0xff) * TWO_32 + fh.low,
  };
}

/** Told of a handle that is new, changed, or gone; `canWait` where only how far it was read changed. */
type Noted = (serial: number, handle: Handle | undefined, canWait: boolean) => void;

/** Serial numbers that are noted as given out at once. */
const AHEAD = 1024;

/** The handles that one mount has open, by serial number. */
export class HandleTable {
  readonly #open = new Map<number, Handle>();
  readonly #noted: Noted;
  readonly #given: (serial: number) => void;
  #last = 0;
  /** The number up to which all are noted as given out. */
  #ahead = 0;

  /** @param given told of the number up to which all may have been given out, before they are */
  constructor(noted: Noted = () => undefined, given: (serial: number) => void = () => undefined) {
    this.#noted = noted;
    this.#given = given;
  }

  get size(): number {
    return this.#open.size;
  }

  /** @throws {Error} with code ENFILE when 2^20 handles are open. */
  add(handle: Handle): number {
    if (this.#open.size >= SERIALS - 1) throw Object.assign(new Error('too many open files'), { code: 'ENFILE' });
    do this.#step();
    while (this.#open.has(this.#last));
    this.#put(this.#last, handle);
    return this.#last;
  }

  #step(): void {
    if (this.#last === this.#ahead) {
      this.#ahead = (this.#ahead + AHEAD) % SERIALS;
      this.#given(this.#ahead);
    }
    this.#last = (this.#last + 1) % SERIALS;
  }

  /**
   * Goes on behind the numbers that an earlier process gave out: the kernel may still send again that one of them was
   * closed. Undefined where that is not known.
   */
  goOn(given: number | undefined): void {
    this.#last = given ?? Math.max(0, ...this.#open.keys());
    this.#ahead = this.#last;
  }

  /** Puts a handle of an earlier process back under the number that the kernel knows. */
  restore(serial: number, handle: Handle): void {
    this.#put(serial, handle);
  }

  /** Notes that something in a handle of this table changed; `canWait` where that is how far it was read. */
  changed(handle: Handle, canWait = false): void {
    if (this.#open.get(handle.serial) === handle) this.#noted(handle.serial, handle, canWait);
  }

  /** The handle that a request opened. */
  openedBy(request: number): Handle | undefined {
    for (const handle of this.#open.values()) if (handle.opening === request) return handle;
    return undefined;
  }

  #put(serial: number, handle: Handle): void {
    handle.serial = serial;
    this.#open.set(serial, handle);
    this.#noted(serial, handle, false);
  }

  /** The handle of a request on a node; undefined for one that is not open, or leads to something else. */
  get(fh: Fh, node: number): Handle | undefined {
    const handle = this.#open.get((fh.high >>> 8) & (SERIALS - 1));
    return handle?.node.id === node && !handle.leaving ? handle : undefined;
  }

  /** The handle of a serial number, whatever becomes of it. */
  at(serial: number): Handle | undefined {
    return this.#open.get(serial);
  }

  /** Takes every handle out of the table. */
  takeAll(): Handle[] {
    const handles = [...this.#open.values()];
    for (const { serial } of handles) this.remove(serial);
    return handles;
  }

  remove(serial: number): void {
    this.#open.delete(serial);
    this.#noted(serial, undefined, false);
  }

  /** Puts another handle in the place of each that leads to a node. */
  replaceAll(node: FileNode, replace: (handle: Handle) => Handle): void {
    for (const [serial, handle] of this.#open) {
      if (handle.node !== node) continue;
      const next = replace(handle);
      next.opening = handle.opening;
      next.leaving = handle.leaving ?? false;
      this.#put(serial, next);
    }
  }

  /** Contents that open files show. */
  contents(): number[] {
    return [...this.#open.values()].flatMap((handle) => {
      const content = handle.kind === 'read' ? handle.content : handle.kind === 'write' ? handle.snapshot : null;
      return content === null ? [] : [content];
    });
  }

  values(): IterableIterator<Handle> {
    return this.#open.values();
  }
}
