import { constants } from 'node:os';
import type { AttributesAnswer, EntryAnswer } from './attributes.js';
import type { AttributeChange } from './changing-attributes.js';
import type { Fh } from './handles.js';
import { aliasOf, baseOf, nodeOf, type Scratch, type Sharing } from './sharing.js';
import type { Caller, View } from './view.js';
import { type DirectoryLine, ViewOperations } from './view-operations.js';

const { errno } = constants;
const ROOT = 1;
/** The number of a position in a listing that is behind `.` and `..`. */
const AFTER_DOTS = 2;

/** Where an operation is to be done: in memory, or in a scratch. `id` is the node there. */
interface Place {
  readonly operations: ViewOperations;
  readonly scratch: Scratch | undefined;
  readonly id: number;
}

type Later<T> = T | number | Promise<T | number>;

/**
 * The operations of a mount on which some callers see memory, and those of sessions that several people steer see a folder of
 * their own instead (spec §5.6). Who calls decides, each time; a node of the other side is a stale one.
 */
export class DividedOperations {
  readonly #memory: ViewOperations;
  readonly #view: View;
  readonly #sharing: Sharing;
  /** Files that a shared session had open as it became one: others have them under their second ids. */
  readonly #haunted = new Set<number>();

  constructor(view: View, sharing: Sharing) {
    this.#view = view;
    this.#sharing = sharing;
    this.#memory = new ViewOperations(view);
    view.isShutOut = (caller) => this.#scratchOf(caller) !== undefined;
  }

  /**
   * Parts the files that shared sessions have open from those that everybody else opens: what an open or mapped file finds
   * in the kernel's page cache is what was there before.
   */
  haunt(): void {
    for (const handle of this.#view.handles.values())
      if (this.#sharing.isShared(handle.session.key)) this.#haunted.add(handle.node.id);
  }

  lookup(caller: Caller, parent: number, name: string | null) {
    return this.#entry(caller, parent, ({ operations, id }) => operations.lookup(caller, id, name));
  }

  forget(node: number, count: number): void {
    const { slot, id } = nodeOf(node);
    const operations = slot === undefined ? this.#memory : this.#sharing.scratchAt(this.#view, slot)?.operations;
    operations?.forget(id, count);
  }

  getattr(caller: Caller, node: number) {
    return this.#attributes(caller, node, ({ operations, id }) => operations.getattr(caller, id));
  }

  setattr(caller: Caller, node: number, change: AttributeChange) {
    if (change.fh && this.#isWithdrawn(node, change.fh)) return errno.ESTALE;
    return this.#attributes(caller, node, ({ operations, id }) => operations.setattr(caller, id, change));
  }

  access(caller: Caller, node: number, mask: number) {
    return this.#at<never>(caller, node, ({ operations, id }) => operations.access(caller, id, mask));
  }

  mknod(caller: Caller, parent: number, name: string | null, mode: number) {
    return this.#entry(caller, parent, ({ operations, id }) => operations.mknod(caller, id, name, mode));
  }

  mkdir(caller: Caller, parent: number, name: string | null) {
    return this.#entry(caller, parent, ({ operations, id }) => operations.mkdir(caller, id, name));
  }

  unlink(caller: Caller, parent: number, name: string | null) {
    return this.#at<never>(caller, parent, ({ operations, id }) => operations.unlink(caller, id, name));
  }

  rmdir(caller: Caller, parent: number, name: string | null) {
    return this.#at<never>(caller, parent, ({ operations, id }) => operations.rmdir(caller, id, name));
  }

  rename(
    caller: Caller,
    parent: number,
    name: string | null,
    newParent: number,
    newName: string | null,
    flags: number,
  ) {
    const to = this.#place(caller, newParent);
    if (typeof to === 'number') return to;
    return this.#at<never>(caller, parent, ({ operations, id }) =>
      operations.rename(caller, id, name, to.id, newName, flags),
    );
  }

  open(caller: Caller, node: number, flags: number) {
    return this.#at(caller, node, ({ operations, id }) => operations.open(caller, id, flags));
  }

  create(caller: Caller, parent: number, name: string | null, flags: number) {
    const place = this.#place(caller, parent);
    if (typeof place === 'number') return place;
    return this.#later(caller, place.operations.create(caller, place.id, name, flags), (made) => ({
      ...made,
      entry: this.#told(place, made.entry),
    }));
  }

  read(caller: Caller, node: number, fh: Fh, offset: number, size: number) {
    if (this.#isWithdrawn(node, fh)) return errno.ESTALE;
    return this.#at(caller, node, ({ operations, id }) => operations.read(caller, id, fh, offset, size));
  }

  write(caller: Caller, node: number, fh: Fh, offset: number, data: Buffer, flags: number, fromCache: boolean) {
    // What is written to a mapped file comes from nobody, through whichever handle the kernel finds.
    if (fromCache) {
      const { slot, id } = nodeOf(node);
      const scratch = slot === undefined ? undefined : this.#sharing.scratchAt(this.#view, slot);
      if (slot !== undefined && !scratch) return errno.ESTALE;
      if (this.#isWithdrawn(node, fh)) return { written: data.length };
      return (scratch?.operations ?? this.#memory).write(caller, id, fh, offset, data, flags, fromCache);
    }
    if (this.#isWithdrawn(node, fh)) return errno.ESTALE;
    return this.#at(caller, node, ({ operations, id }) =>
      operations.write(caller, id, fh, offset, data, flags, fromCache),
    );
  }

  fallocate(caller: Caller, node: number, fh: Fh, offset: number, length: number, mode: number) {
    if (this.#isWithdrawn(node, fh)) return errno.ESTALE;
    return this.#at<never>(caller, node, ({ operations, id }) =>
      operations.fallocate(caller, id, fh, offset, length, mode),
    );
  }

  /** A close that saves nothing where a shared session has a hand in it: its draft is gone. */
  flush(caller: Caller, node: number, fh: Fh) {
    const { slot, id } = nodeOf(node);
    if (slot !== undefined) return this.#sharing.scratchAt(this.#view, slot)?.operations.flush(caller, id, fh) ?? 0;
    if (this.#isWithdrawn(node, fh) || this.#scratchOf(caller)) return 0;
    return this.#memory.flush(caller, id, fh);
  }

  release(caller: Caller, node: number, fh: Fh) {
    const { slot, id } = nodeOf(node);
    if (slot === undefined) return this.#memory.release(caller, id, fh);
    return this.#sharing.scratchAt(this.#view, slot)?.operations.release(caller, id, fh) ?? 0;
  }

  fsync(caller: Caller): Promise<0> {
    return (this.#scratchOf(caller)?.operations ?? this.#memory).fsync(caller);
  }

  readdir(caller: Caller, node: number, offset: number, plus: boolean, take: (line: DirectoryLine) => boolean): number {
    const place = this.#place(caller, node);
    // As of a folder that was removed while it was read.
    if (typeof place === 'number') return place === errno.ESTALE ? errno.ENOENT : place;
    const { operations, scratch, id } = place;
    // Nothing is put into the kernel's cache for everybody while not everybody may see it.
    const primes = plus && !this.#sharing.isActive;
    if (!scratch) return operations.readdir(caller, id, offset, primes, take);
    const base = baseOf(scratch.slot);
    const from = offset > base ? offset - base : Math.min(offset, AFTER_DOTS);
    const numbered = (line: DirectoryLine): DirectoryLine => ({
      ...{ name: line.name, kind: line.kind, ino: line.ino === ROOT ? ROOT : line.ino + base },
      offset: line.offset > AFTER_DOTS ? line.offset + base : line.offset,
    });
    return operations.readdir(caller, id, from, false, (line) => take(numbered(line)));
  }

  statfs(caller: Caller) {
    return this.#at(caller, ROOT, ({ operations }) => operations.statfs(caller));
  }

  answered(caller: Caller): void {
    this.#memory.answered(caller);
    for (const { operations } of this.#sharing.scratches(this.#view)) operations.answered(caller);
  }

  /** What a caller sees instead of memory; undefined for one that sees memory, or is not known. */
  #scratchOf(caller: Caller): Scratch | undefined {
    if (!this.#sharing.isKnown) return undefined;
    return this.#sharing.scratchOf(this.#view, this.#view.caller(caller).session.key);
  }

  /** Where a caller's operation on a node is done, or the errno that refuses it. */
  #place(caller: Caller, node: number): Place | number {
    const { slot, id } = nodeOf(node);
    if (!this.#sharing.isKnown)
      return slot === undefined ? { operations: this.#memory, scratch: undefined, id } : errno.ESTALE;
    const { pid, session } = this.#view.caller(caller);
    // It may be one of a shared session: the kernel does not say.
    if (pid === 0 && this.#sharing.isActive) return errno.EACCES;
    const scratch = this.#sharing.scratchOf(this.#view, session.key);
    if (scratch)
      return slot === scratch.slot || node === ROOT ? { operations: scratch.operations, scratch, id } : errno.ESTALE;
    return slot === undefined ? { operations: this.#memory, scratch, id } : errno.ESTALE;
  }

  #at<T>(caller: Caller, node: number, work: (place: Place) => Later<T>): Later<T> {
    const place = this.#place(caller, node);
    return typeof place === 'number' ? place : this.#later(caller, work(place), (answer) => answer);
  }

  #entry(caller: Caller, node: number, work: (place: Place) => Later<EntryAnswer>) {
    const place = this.#place(caller, node);
    if (typeof place === 'number') return place;
    return this.#later(caller, work(place), (entry) => this.#told(place, entry));
  }

  #attributes(caller: Caller, node: number, work: (place: Place) => Later<AttributesAnswer>) {
    const place = this.#place(caller, node);
    if (typeof place === 'number') return place;
    return this.#later(caller, work(place), (answer) => this.#toldAttributes(place, answer));
  }

  /** Makes an answer the kernel's; one that had to wait is none any more when its caller has become a shared one meanwhile. */
  #later<T, U>(caller: Caller, answer: Later<T>, tell: (answer: T) => U): Later<U> {
    const now = (value: T | number): U | number => (typeof value === 'number' ? value : tell(value));
    if (!(answer instanceof Promise)) return now(answer);
    const before = this.#scratchOf(caller);
    return answer.then((value) => (this.#scratchOf(caller) === before ? now(value) : errno.ESTALE));
  }

  #told(place: Place, entry: EntryAnswer): EntryAnswer {
    const { node } = entry;
    const known = this.#toldAttributes(place, entry);
    const entryValid = this.#sharing.isActive ? 0 : entry.entryValid;
    if (node === 0) return { ...entry, ...known, entryValid };
    if (place.scratch) return { ...entry, ...known, entryValid, node: node + baseOf(place.scratch.slot) };
    return { ...entry, ...known, entryValid, node: this.#haunted.has(node) ? aliasOf(node) : node };
  }

  #toldAttributes({ scratch }: Place, answer: AttributesAnswer): AttributesAnswer {
    if (!this.#sharing.isActive && !scratch) return answer;
    const { attr } = answer;
    const ino = scratch && attr.ino > ROOT ? attr.ino + baseOf(scratch.slot) : attr.ino;
    return { attr: { ...attr, ino }, attrValid: this.#sharing.isActive ? 0 : answer.attrValid };
  }

  /** Whether an open file of memory was opened by a shared session, which it was not then. */
  #isWithdrawn(node: number, fh: Fh): boolean {
    if (!this.#sharing.isKnown) return false;
    const { slot, id } = nodeOf(node);
    const handle = slot === undefined ? this.#view.handles.get(fh, id) : undefined;
    return handle !== undefined && this.#sharing.isShared(handle.session.key);
  }
}
