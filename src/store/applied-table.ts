import type Database from 'better-sqlite3';
import type { CameTo, Requests } from '../ports/store.js';

/** The slots of one mount. */
interface Slots {
  readonly free: number[];
  next: number;
  /** Slots by the kernel's number of the request that holds them. */
  readonly taken: Map<number, number>;
  /** What requests came to that an earlier process applied and may not have answered. */
  readonly earlier: Map<number, CameTo>;
  /** Those of them that came again and wait for their answer. */
  readonly again: Set<number>;
}

const noSlots = (): Slots => ({ free: [], next: 0, taken: new Map(), earlier: new Map(), again: new Set() });

interface Current {
  readonly mount: number;
  readonly request: number;
  cameTo: CameTo | undefined;
}

/** Which requests of kernels were applied and not answered yet, stored with the change itself. */
export class AppliedTable implements Requests {
  readonly #put;
  readonly #load;
  readonly #delete;
  readonly #mounts = new Map<number, Slots>();
  #current: Current | undefined;

  constructor(db: Database.Database) {
    this.#put = db.prepare(
      `INSERT INTO applied (mount, slot, request, came_to) VALUES (?, ?, ?, ?)
       ON CONFLICT (mount, slot) DO UPDATE SET request = excluded.request, came_to = excluded.came_to`,
    );
    this.#load = db.prepare<[number], { slot: number; request: number; came_to: string | null }>(
      'SELECT slot, request, came_to FROM applied WHERE mount = ?',
    );
    this.#delete = db.prepare('DELETE FROM applied WHERE mount = ?');
  }

  /** A new connection of a mount, whose kernel counts its requests anew. */
  forget(mount: number): void {
    this.#mounts.delete(mount);
    this.#delete.run(mount);
  }

  /** Takes over what an earlier process left of a mount. */
  load(mount: number): void {
    const slots = noSlots();
    for (const { slot, request, came_to } of this.#load.all(mount)) {
      slots.taken.set(request, slot);
      slots.earlier.set(request, came_to === null ? {} : (JSON.parse(came_to) as CameTo));
      slots.next = Math.max(slots.next, slot + 1);
    }
    this.#mounts.set(mount, slots);
  }

  /**
   * Lets go of what an earlier process left: everything that it had not answered was sent again by now. What waits for its
   * answer stays until it has it, for yet another process.
   */
  settle(mount: number): void {
    const slots = this.#mounts.get(mount);
    for (const request of slots?.earlier.keys() ?? []) if (!slots?.again.has(request)) this.answered(mount, request);
  }

  /** What a request came to; undefined when it was not applied. */
  find(mount: number, request: number): CameTo | undefined {
    const slots = this.#mounts.get(mount);
    const came = slots?.earlier.get(request);
    if (came) slots?.again.add(request);
    return came;
  }

  /** Nodes that requests moved or removed which an earlier process may not have answered. */
  movedEarlier(mount: number): Set<number> {
    const came = [...(this.#mounts.get(mount)?.earlier.values() ?? [])];
    return new Set(came.flatMap(({ node, target }) => [node ?? [], target ?? []].flat()));
  }

  /** Runs `work`, whose transactions are those of a request. */
  during<T>(mount: number, request: number, work: () => T): T {
    const before = this.#current;
    this.#current = { mount, request, cameTo: undefined };
    try {
      return work();
    } finally {
      this.#current = before;
    }
  }

  /** Runs `work`, whose transactions are no request's. */
  apart<T>(work: () => T): T {
    const before = this.#current;
    this.#current = undefined;
    try {
      return work();
    } finally {
      this.#current = before;
    }
  }

  cameTo(what: CameTo): void {
    if (this.#current) this.#current.cameTo = { ...this.#current.cameTo, ...what };
  }

  /** Stores, at the end of a transaction, that the request was applied. */
  mark(): void {
    const { mount, request, cameTo } = this.#current ?? {};
    if (mount === undefined || request === undefined) return;
    this.#put.run(mount, this.#slot(mount, request), request, cameTo ? JSON.stringify(cameTo) : null);
  }

  isApplied(mount: number, request: number): boolean {
    return this.#mounts.get(mount)?.taken.has(request) === true;
  }

  answered(mount: number, request: number): void {
    const slots = this.#mounts.get(mount);
    const slot = slots?.taken.get(request);
    if (!slots || slot === undefined) return;
    slots.taken.delete(request);
    slots.earlier.delete(request);
    slots.again.delete(request);
    slots.free.push(slot);
  }

  #slot(mount: number, request: number): number {
    let slots = this.#mounts.get(mount);
    if (!slots) {
      slots = noSlots();
      this.#mounts.set(mount, slots);
    }
    const slot = slots.taken.get(request) ?? slots.free.pop() ?? slots.next++;
    slots.taken.set(request, slot);
    return slot;
  }
}
