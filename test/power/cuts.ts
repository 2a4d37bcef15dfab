import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../model/random.js';
import { Disk, type DiskState, isEphemeral, materialise, type Names, type Snapshot } from './disk.js';
import { Marks } from './marks.js';
import { broken, damage, mountAgain, reopen, traces } from './promises.js';
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

/** What a disk has after the power went. */
export interface Left {
  readonly state: DiskState;
  /** The folders of the store and of the plain memory, which may not be there. */
  readonly store: string;
  readonly plain: string;
  readonly marks: Marks;
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
 * Cuts the power at some points of a record, has what is left looked at each time, and gives back where something is wrong.
 * @param most faults after which it stops
 */
export async function cutPower(
  recorded: Recorded,
  names: Names,
  points: readonly number[],
  random: Random,
  check: (left: Left) => Promise<string[]>,
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
      const faults = await look(recorded, disk.cut(random), marks, scratch, check);
      if (faults.length > 0) found.push({ cut, names, faults });
      if (found.length >= most) break;
    }
    return found;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

async function look(
  { root, store, plain }: Recorded,
  state: DiskState,
  marks: Marks,
  scratch: string,
  check: (left: Left) => Promise<string[]>,
): Promise<string[]> {
  const left = { root: join(scratch, 'root'), plain: join(scratch, 'plain') };
  try {
    materialise(state, root, left.root);
    materialise(state, plain, left.plain);
    return await check({ state, store: join(left.root, store.slice(root.length)), plain: left.plain, marks });
  } catch (error) {
    return [error instanceof Error ? `${error.message} ${String(error.cause ?? '')}` : String(error)];
  } finally {
    for (const made of [left.root, left.plain]) rmSync(made, { recursive: true, force: true });
  }
}

/** Opens what is left of a store, and takes in what is left of the plain folder, as the next mount does. */
export async function keepsPromises(
  recorded: Recorded,
  { state, store: folder, plain, marks }: Left,
): Promise<string[]> {
  const found = traces(state, recorded.store, marks);
  const store = reopen(folder);
  try {
    found.push(...broken(store, marks));
    await mountAgain(store, recorded.plain, plain);
    found.push(...broken(store, marks).map((fault) => `after the next mount, ${fault}`));
    found.push(...damage(store));
  } finally {
    store.close();
  }
  return found;
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
