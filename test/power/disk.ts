import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Random } from '../model/random.js';
import { type Bytes, type Change, FileOnDisk } from './file-on-disk.js';
import { type Entry, EPHEMERAL } from './record.js';

/**
 * What a disk makes of names. `strict`, all that POSIX promises: a name that was made, changed or removed may be as it
 * was before until its folder is synced, whatever other names are. `ordered`, as ext4 does it: names change in the order
 * of the calls, and fsync(2) of any file, but not fdatasync(2), brings all that were changed before it to the disk.
 */
export type Names = 'strict' | 'ordered';

type Folder = 'folder';
type Thing = FileOnDisk | Folder;
/** What lies at each path on the disk. */
export type DiskState = ReadonlyMap<string, Bytes | Folder>;

/** What lies below some folders. */
export interface Snapshot {
  readonly roots: readonly string[];
  readonly things: ReadonlyMap<string, { readonly inode: number; readonly bytes: Buffer } | Folder>;
}

export function snapshotOf(roots: readonly string[]): Snapshot {
  const things = new Map<string, { inode: number; bytes: Buffer } | Folder>();
  const read = (folder: string): void => {
    things.set(folder, 'folder');
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (isEphemeral(path)) continue;
      if (entry.isDirectory()) read(path);
      else things.set(path, { inode: statSync(path).ino, bytes: readFileSync(path) });
    }
  };
  for (const root of roots) read(root);
  return { roots, things };
}

interface NameChange {
  readonly folder: string;
  readonly paths: readonly string[];
  readonly apply: (names: Map<string, Thing>) => unknown;
  readonly number: number;
}

interface Sync {
  /** Changes of the file that it vouches for. */
  readonly changes: number;
  /** Changes of names before it. */
  readonly names: number;
}

/** Plays a record, and tells what may be left on the disk when the power goes at some entry of it. */
export class Disk {
  readonly #roots: readonly string[];
  readonly #names: Names;
  readonly #files = new Map<number, FileOnDisk>();
  /** Names as processes see them, and as they are on the disk for sure. */
  readonly #now = new Map<string, Thing>();
  readonly #durable = new Map<string, Thing>();
  #pending: NameChange[] = [];
  #nameChanges = 0;
  readonly #syncs = new Map<string, Sync>();

  /** @param begin what it has for sure to begin with */
  constructor(begin: Snapshot, names: Names) {
    this.#roots = begin.roots;
    this.#names = names;
    for (const [path, lies] of begin.things) {
      const thing = lies === 'folder' ? lies : new FileOnDisk(lies.bytes);
      if (lies !== 'folder' && thing !== 'folder') this.#files.set(lies.inode, thing);
      this.#now.set(path, thing);
      this.#durable.set(path, thing);
    }
  }

  play(entry: Entry): void {
    const { op, path, other, inode, offset } = entry;
    if (op === 'create') {
      const file = new FileOnDisk();
      this.#files.set(inode, file);
      this.#rename([path], (names) => names.set(path, file));
    } else if (op === 'write' || op === 'zeros') {
      this.#change(entry, { at: offset, length: entry.length, data: entry.data });
    } else if (op === 'size') this.#change(entry, { size: offset });
    else if (op === 'sync begins') {
      const changes = this.#files.get(inode)?.changes ?? 0;
      this.#syncs.set(keyOf(entry), { changes, names: this.#nameChanges });
    } else if (op === 'sync ends' || op === 'sync fails') this.#synced(entry, op === 'sync ends');
    else if (op === 'rename') {
      this.#rename([path, other], (names) => {
        const thing = names.get(path);
        names.delete(path);
        if (thing) names.set(other, thing);
      });
    } else if (op === 'link') {
      const thing = this.#now.get(path);
      this.#rename([other], (names) => thing && names.set(other, thing));
    } else if (op === 'mkdir') this.#rename([path], (names) => names.set(path, 'folder'));
    else if (op === 'unlink' || op === 'rmdir') this.#rename([path], (names) => names.delete(path));
    else if (op === 'unknown')
      throw new Error(`${other || 'a call'} changed ${path} in a way that the recorder does not know`);
  }

  #change({ inode, path }: Entry, change: Change): void {
    const file = this.#files.get(inode);
    if (!file) throw new Error(`${path} was changed, and nobody has seen where it came from`);
    file.change(change);
  }

  #synced(entry: Entry, isDone: boolean): void {
    const { inode, path, length } = entry;
    const sync = this.#syncs.get(keyOf(entry));
    if (!sync) throw new Error(`a sync of ${path} ended that never began`);
    this.#syncs.delete(keyOf(entry));
    const file = this.#files.get(inode);
    if (file && isDone) file.synced(sync.changes);
    else file?.syncFailed(sync.changes);
    if (!isDone) return;
    this.#settle(
      ({ folder, number }) => number < sync.names && (folder === path || (this.#names === 'ordered' && length === 0)),
    );
  }

  #rename(paths: readonly string[], apply: NameChange['apply']): void {
    const [folder = '', ...others] = paths.map((path) => dirname(path));
    if (others.some((one) => one !== folder)) throw new Error(`moved from a folder to another: ${paths.join(', ')}`);
    apply(this.#now);
    this.#pending.push({ folder, paths, apply, number: this.#nameChanges++ });
  }

  #settle(isDurable: (change: NameChange) => boolean): void {
    for (const change of this.#pending) if (isDurable(change)) change.apply(this.#durable);
    this.#pending = this.#pending.filter((change) => !isDurable(change));
  }

  /** What the disk has when the power goes now. */
  cut(random: Random): DiskState {
    const names = new Map(this.#durable);
    for (const change of this.#surviving(random)) change.apply(names);
    return this.#state(names, (file) => file.cut(random));
  }

  /** What processes see. */
  now(): DiskState {
    return this.#state(this.#now, (file) => file.now);
  }

  #state(names: ReadonlyMap<string, Thing>, bytesOf: (file: FileOnDisk) => Bytes): DiskState {
    const isReached = (path: string): boolean =>
      this.#roots.includes(path) || (names.get(dirname(path)) === 'folder' && isReached(dirname(path)));
    const reached = [...names].filter(([path]) => isReached(path)).sort(([a], [b]) => (a < b ? -1 : 1));
    return new Map(reached.map(([path, thing]) => [path, thing === 'folder' ? thing : bytesOf(thing)]));
  }

  /** Changes of names that are there although nothing vouches for them. */
  #surviving(random: Random): NameChange[] {
    const all = this.#pending;
    const kind = random.below(4);
    if (kind === 0) return [];
    if (kind === 1) return all;
    if (this.#names === 'ordered') return all.slice(0, random.below(all.length + 1));
    // Names that a rename ties together change in order; of others, any.
    const times = new Map<string, number>();
    const timeOf = (path: string): number => {
      const time = times.get(path) ?? random.below(all.length + 1);
      times.set(path, time);
      return time;
    };
    for (const { paths } of all) {
      const time = Math.min(...paths.map(timeOf));
      for (const path of paths) times.set(path, time);
    }
    return all.filter(({ paths }, index) => paths.every((path) => index < timeOf(path)));
  }
}

function keyOf({ pid, offset, inode }: Entry): string {
  return `${pid} ${offset} ${inode}`;
}

export function isEphemeral(path: string): boolean {
  return EPHEMERAL.some((part) => path.includes(part));
}

/** Makes the files of a disk below another folder, which stands in for one of the recorded ones. */
export function materialise(state: DiskState, root: string, folder: string): void {
  for (const [path, thing] of state) {
    if (path !== root && !path.startsWith(`${root}/`)) continue;
    const target = join(folder, path.slice(root.length));
    if (thing === 'folder') {
      mkdirSync(target, { recursive: true, mode: 0o700 });
      continue;
    }
    writeFileSync(target, thing.used, { mode: 0o600 });
    if (thing.size > thing.used.length) truncateSync(target, thing.size);
  }
}
