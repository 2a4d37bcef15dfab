import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../model/random.js';
import { Disk, type DiskState, isEphemeral, materialise, type Names, type Snapshot } from './disk.js';
import { Marks } from './marks.js';
import { broken, reopen, traces } from './promises.js';
import type { Entry } from './record.js';

/** A file system in memory, where syncs cost nothing. */
const MEMORY = '/dev/shm';

/** What was recorded, and where. */
export interface Recorded {
  readonly entries: readonly Entry[];
  /** What there was before the first entry. */
  readonly begin: Snapshot;
  /** The folder that the recorder was told of, and the store's within it. */
  readonly root: string;
  readonly store: string;
  readonly marks: string;
}

/** A point at which the power went and a promise is broken. */
export interface Fault {
  readonly cut: number;
  readonly names: Names;
  readonly faults: readonly string[];
}

/** Cut points: half of them anywhere, half of them where the database itself, or a name, was about to change. */
export function choosePoints(entries: readonly Entry[], count: number, random: Random): number[] {
  const rare = entries.flatMap((entry, index) => (/-wal$|\/marks$/.test(entry.path) ? [] : [index, index + 1]));
  const points = Array.from({ length: count }, (_, turn) =>
    turn % 2 === 0 || rare.length === 0 ? random.below(entries.length + 1) : random.pick(rare),
  );
  return points.sort((a, b) => a - b);
}

/**
 * Cuts the power at some points of a record, opens each time what is left of the store, and gives back where a promise is
 * broken.
 * @param most faults after which it stops
 */
export function cutPower(
  recorded: Recorded,
  names: Names,
  points: readonly number[],
  random: Random,
  most = Number.POSITIVE_INFINITY,
): Fault[] {
  const { entries } = recorded;
  const disk = new Disk(recorded.begin, names);
  const marks = new Marks();
  const found: Fault[] = [];
  const scratch = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'mend-power-'));
  let played = 0;
  try {
    for (const cut of points) {
      for (; played < cut; played++) {
        const entry = entries[played] as Entry;
        disk.play(entry);
        if (entry.path === recorded.marks) marks.hear(entry, played);
      }
      const faults = check(recorded, disk.cut(random), marks, scratch);
      if (faults.length > 0) found.push({ cut, names, faults });
      if (found.length >= most) break;
    }
    return found;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Opens what a disk has of a store. */
function check({ root, store: folder }: Recorded, state: DiskState, marks: Marks, scratch: string): string[] {
  const copy = join(scratch, 'root');
  try {
    materialise(state, root, copy);
    const left = join(copy, folder.slice(root.length));
    const found = traces(left, marks);
    const store = reopen(left);
    try {
      found.push(...broken(store, marks));
    } finally {
      store.close();
    }
    return found;
  } catch (error) {
    return [error instanceof Error ? `${error.message} ${String(error.cause ?? '')}` : String(error)];
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Files that do not have what the record makes of them; empty when the record has all that was done. */
export function differences({ entries, begin, root }: Recorded): string[] {
  const roots = [root];
  const disk = new Disk(begin, 'strict');
  for (const entry of entries) disk.play(entry);
  const state = disk.now();
  const there = roots.flatMap((root) => [
    root,
    ...readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name)),
  ]);
  const mine = [...state.keys()].filter((path) => path === root || path.startsWith(`${root}/`));
  const paths = new Set([...there.filter((path) => !isEphemeral(path)), ...mine]);
  return [...paths].filter((path) => !isSame(state.get(path), path));
}

function isSame(thing: ReturnType<DiskState['get']>, path: string): boolean {
  try {
    const bytes = readFileSync(path);
    if (thing === undefined || thing === 'folder') return false;
    const whole = Buffer.alloc(thing.size);
    thing.used.copy(whole);
    return whole.equals(bytes);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EISDIR' && thing === 'folder';
  }
}
