import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../model/random.js';
import { Disk, type DiskState, isEphemeral, materialise, type Names, type Snapshot } from './disk.js';
import { Marks } from './marks.js';
import { broken, mountAgain, reopen, traces } from './promises.js';
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
  /** The plain folder under the mount. */
  readonly plain: string;
}

/** A point at which the power went and a promise is broken. */
export interface Fault {
  readonly cut: number;
  readonly names: Names;
  readonly faults: readonly string[];
}

/**
 * Cut points: half of them anywhere, the others where something rare was about to happen or had happened: a change of the
 * database itself or of a name, and what a person has done.
 */
export function choosePoints(entries: readonly Entry[], count: number, random: Random): number[] {
  const around = (isRare: (entry: Entry) => boolean): number[] =>
    entries.flatMap((entry, index) => (isRare(entry) ? [index, index + 1] : []));
  const rare = around(({ path }) => !/-wal$|\/marks$/.test(path));
  const personal = around(({ path, data }) => path.endsWith('/marks') && data?.includes('"person"') === true);
  const points = Array.from({ length: count }, (_, turn) =>
    turn % 2 === 0 ? random.below(entries.length + 1) : random.pick(turn % 4 === 1 ? rare : personal),
  );
  return points.sort((a, b) => a - b);
}

/**
 * Cuts the power at some points of a record, opens each time what is left of the store, and gives back where a promise is
 * broken.
 * @param most faults after which it stops
 */
export async function cutPower(
  recorded: Recorded,
  names: Names,
  points: readonly number[],
  random: Random,
  most = Number.POSITIVE_INFINITY,
): Promise<Fault[]> {
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
      const faults = await check(recorded, disk.cut(random), marks, scratch);
      if (faults.length > 0) found.push({ cut, names, faults });
      if (found.length >= most) break;
    }
    return found;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Opens what a disk has of a store, and takes in what it has of the plain folder, as the next mount does. */
async function check(recorded: Recorded, state: DiskState, marks: Marks, scratch: string): Promise<string[]> {
  const copy = join(scratch, 'root');
  const plain = join(scratch, 'plain');
  try {
    materialise(state, recorded.root, copy);
    materialise(state, recorded.plain, plain);
    const folder = join(copy, recorded.store.slice(recorded.root.length));
    const found = traces(folder, marks);
    const store = reopen(folder);
    try {
      found.push(...broken(store, marks));
      await mountAgain(store, recorded.plain, plain);
      found.push(...broken(store, marks).map((fault) => `after the next mount, ${fault}`));
    } finally {
      store.close();
    }
    return found;
  } catch (error) {
    return [error instanceof Error ? `${error.message} ${String(error.cause ?? '')}` : String(error)];
  } finally {
    for (const made of [copy, plain]) rmSync(made, { recursive: true, force: true });
  }
}

/** Files that do not have what the record makes of them; empty when the record has all that was done. */
export function differences({ entries, begin }: Recorded): string[] {
  const { roots } = begin;
  const disk = new Disk(begin, 'strict');
  for (const entry of entries) disk.play(entry);
  const state = disk.now();
  const there = roots.flatMap((root) => [
    root,
    ...readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name)),
  ]);
  const paths = new Set([...there.filter((path) => !isEphemeral(path)), ...state.keys()]);
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
