import type { Random } from '../model/random.js';

/** What a disk writes in one go: a write that is cut short ends at a boundary of this. */
const SECTOR = 512;

/** One call that changed a file: bytes at a place (undefined for zeros), or a new length. */
export type Change = Write | { readonly size: number };

interface Write {
  readonly at: number;
  readonly length: number;
  readonly data: Buffer | undefined;
}

/** Bytes of a file. */
export class Bytes {
  #buffer: Buffer;
  size: number;
  /** Beyond this there are only zeros. */
  #used: number;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#buffer = Buffer.from(bytes);
    this.size = bytes.length;
    this.#used = bytes.length;
  }

  clone(): Bytes {
    const copy = new Bytes(this.#buffer.subarray(0, this.#used));
    copy.size = this.size;
    return copy;
  }

  /** Everything but the zeros at the end. */
  get used(): Buffer {
    return this.#buffer.subarray(0, Math.min(this.#used, this.size));
  }

  write(at: number, length: number, data: Buffer | undefined): void {
    this.size = Math.max(this.size, at + length);
    if (!data) {
      this.#buffer.fill(0, at, Math.min(at + length, this.#used));
      return;
    }
    const end = at + data.length;
    if (end > this.#buffer.length) {
      const bigger = Buffer.alloc(Math.max(end, this.#buffer.length * 2));
      this.#buffer.copy(bigger, 0, 0, this.#used);
      this.#buffer = bigger;
    }
    data.copy(this.#buffer, at);
    this.#used = Math.max(this.#used, end);
  }

  resize(size: number): void {
    if (size < this.#used) {
      this.#buffer.fill(0, size, this.#used);
      this.#used = size;
    }
    this.size = size;
  }

  apply(change: Change): void {
    if ('size' in change) this.resize(change.size);
    else this.write(change.at, change.length, change.data);
  }
}

/**
 * A file on a disk that may lose its power: what was synced is there. Of what was changed since then, the disk may have
 * any sector as it was after any of the changes, and the length after any of them; a sector is always of one moment. A
 * truncation that is not there yet goes with the length: without it, what came after it in the part that was cut off is
 * not there either.
 */
export class FileOnDisk {
  readonly #durable: Bytes;
  readonly #now: Bytes;
  readonly #pending: Pending[] = [];
  /** How many changes there have been. */
  changes = 0;

  constructor(bytes?: Buffer) {
    this.#durable = new Bytes(bytes);
    this.#now = new Bytes(bytes);
  }

  /** What a process that reads it sees. */
  get now(): Bytes {
    return this.#now;
  }

  change(change: Change): void {
    this.#now.apply(change);
    this.#pending.push({ change, number: this.changes++, doubtful: false });
  }

  /** The first so many changes are on the disk from now on, but for those that a sync failed to bring there. */
  synced(changes: number): void {
    const mine = this.#pending.filter(({ number }) => number < changes);
    this.#pending.splice(0, mine.length);
    const doubtful = mine.filter((pending) => pending.doubtful);
    const rewritten = lastSure(mine);
    for (const { change, number, doubtful } of mine) {
      if (!doubtful) this.#durable.apply(change);
      else if ('size' in change) this.#durable.resize(change.size);
      // The bytes went along with the sector's later ones.
      else eachSector(change, (piece, sector) => (rewritten.get(sector) ?? -1) > number && this.#durable.apply(piece));
    }
    this.#pending.unshift(...doubtful.flatMap((pending) => left(pending, rewritten)));
  }

  /**
   * A sync failed: what it was to bring to the disk is there or not, and no later sync does anything about it; only
   * when it is written once more. That is how Linux has it: the kernel takes the pages for clean.
   */
  syncFailed(changes: number): void {
    for (const pending of this.#pending) if (pending.number < changes) pending.doubtful = true;
  }

  /** What the disk has when the power goes now; not to be changed. */
  cut(random: Random): Bytes {
    const count = this.#pending.length;
    if (count === 0) return this.#durable;
    const disk = this.#durable.clone();
    const { sizeAfter, timeOf } = choose(random, count);
    const limits: { from: number; least: number; most: number }[] = [];
    let { size } = disk;
    for (const [index, { change }] of this.#pending.entries()) {
      const isThere = index < sizeAfter;
      if ('size' in change && change.size < size)
        limits.push({ from: change.size, least: isThere ? index + 1 : 0, most: isThere ? count : index });
      if (isThere) size = 'size' in change ? change.size : Math.max(size, change.at + change.length);
    }
    const timeWithin = (sector: number): number => {
      let time = timeOf(sector);
      for (const { from, least, most } of limits)
        if ((sector + 1) * SECTOR > from) time = Math.min(most, Math.max(least, time));
      return time;
    };
    for (const [index, { change }] of this.#pending.entries()) {
      if ('size' in change) {
        if (index < sizeAfter) disk.resize(change.size);
      } else eachSector(change, (piece, sector) => index < timeWithin(sector) && disk.apply(piece));
    }
    disk.resize(size);
    return disk;
  }
}

interface Pending {
  readonly change: Change;
  readonly number: number;
  doubtful: boolean;
}

/** After how many of the changes length and sectors are as the disk has them. */
function choose(random: Random, count: number): { sizeAfter: number; timeOf: (sector: number) => number } {
  const seed = random.below(2 ** 31);
  const dice = (sector: number, limit: number): number => hash(seed + sector) % limit;
  const kind = random.weighted([
    [10, 'nothing'],
    [10, 'everything'],
    [35, 'in order'],
    [20, 'few'],
    [25, 'anything'],
  ] as const);
  switch (kind) {
    case 'nothing':
      return { sizeAfter: 0, timeOf: () => 0 };
    case 'everything':
      return { sizeAfter: count, timeOf: () => count };
    case 'in order': {
      // The one that was under way is torn.
      const whole = random.below(count);
      return { sizeAfter: whole + random.below(2), timeOf: (sector) => whole + dice(sector, 2) };
    }
    case 'few':
      return { sizeAfter: random.below(count + 1), timeOf: (sector) => (dice(sector, 10) === 0 ? 0 : count) };
    case 'anything':
      return { sizeAfter: random.below(count + 1), timeOf: (sector) => dice(sector, count + 1) };
  }
}

function hash(number: number): number {
  let mixed = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** The parts of a write, sector by sector; zeros in one part, counted with the sector that they begin in. */
function eachSector(change: Write, visit: (piece: Change, sector: number) => unknown): void {
  const { at, length, data } = change;
  if (!data) {
    visit(change, Math.floor(at / SECTOR));
    return;
  }
  for (let from = at; from < at + length; ) {
    const sector = Math.floor(from / SECTOR);
    const to = Math.min(at + length, (sector + 1) * SECTOR);
    visit({ at: from, length: to - from, data: data.subarray(from - at, to - at) }, sector);
    from = to;
  }
}

/** The last change of each sector that no failed sync was to bring to the disk. */
function lastSure(list: readonly Pending[]): Map<number, number> {
  const last = new Map<number, number>();
  if (!list.some(({ doubtful }) => doubtful)) return last;
  for (const { change, number, doubtful } of list)
    if (!doubtful && 'at' in change) eachSector(change, (_, sector) => last.set(sector, number));
  return last;
}

/** What is still in doubt of a change. */
function left(pending: Pending, rewritten: ReadonlyMap<number, number>): Pending[] {
  const parts: Pending[] = [];
  if ('at' in pending.change)
    eachSector(pending.change, (piece, sector) => {
      if ((rewritten.get(sector) ?? -1) <= pending.number) parts.push({ ...pending, change: piece });
    });
  return parts;
}
