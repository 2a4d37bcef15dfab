import { basename } from 'node:path';
import { recoverDrafts, removeUnfinished } from '../../src/daemon/recovery.js';
import { memoryHarness } from '../../src/harness/registry.js';
import { takeIn } from '../../src/import/take-in.js';
import { readMachine } from '../../src/project/machine.js';
import { checkDatabase } from '../../src/store/check/check-database.js';
import { MemoryFiles } from '../../src/store/memory-files.js';
import { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import type { DiskState } from './disk.js';
import type { Marks, Worker } from './marks.js';

/** Opens a store as a daemon does that finds it after the machine came up again. */
export function reopen(folder: string): Store {
  const machine = () => readMachine(folder);
  const store = new Store(folder, { create: true, owner: 'after', machine });
  recoverDrafts(store, () => false);
  removeUnfinished(store);
  return store;
}

/**
 * Takes in the plain folder of the memory, as a mount does.
 * @param known what the store knows the folder as
 */
export async function mountAgain(store: Store, known: string, folder: string): Promise<void> {
  for (const table of ['import_base', 'import_dispute'])
    store.db.prepare(`UPDATE ${table} SET folder = ? WHERE folder = ?`).run(folder, known);
  for (const tree of treesOf(store)) await takeIn(store, tree, folder, memoryHarness(tree.harness));
}

export function treesOf(store: Store): TreeRow[] {
  return store.projects.list(store.machine).flatMap(({ id }) => store.trees.ofProject(id));
}

/** What a store that was opened again does not keep of what was promised; empty when it keeps everything. */
export function broken(store: Store, marks: Marks): string[] {
  const [tree] = treesOf(store);
  return [...brokenSaves(store, tree, marks), ...brokenDrafts(store, tree, marks)];
}

/** What is wrong with the store, whatever was promised. */
export function damage({ db }: Store): string[] {
  return checkDatabase(db).map(({ check, message }) => `${check}: ${message}`);
}

/** Each worker's files are as they were after one of its steps, none before the last that was synced. */
function brokenSaves(store: Store, tree: TreeRow | undefined, { workers }: Marks): string[] {
  const heads = new Map(
    tree ? new MemoryFiles(store, tree).list().map(({ path, content }) => [path, digest(store, content)]) : [],
  );
  const faults: string[] = [];
  /** Of all workers, where the first step that is lost was done, and where the last one that is there began. */
  let firstLost = Number.POSITIVE_INFINITY;
  let lastKept = -1;
  for (const [name, worker] of workers) {
    const [least, most] = fittingSteps(worker, heads);
    if (least === undefined || most === undefined) {
      faults.push(
        `the files of ${name} are as after none of its steps from ${worker.synced} to ${worker.steps.length}: ${unfit(worker, heads)}`,
      );
      continue;
    }
    firstLost = Math.min(firstLost, worker.steps[most]?.done ?? Number.POSITIVE_INFINITY);
    lastKept = Math.max(lastKept, worker.steps[least - 1]?.begun ?? -1);
  }
  if (firstLost < lastKept) faults.push('a step is lost, and one that somebody began after it was done is not');
  return faults;
}

/** The files that are not as after the last step that was synced. */
function unfit(worker: Worker, heads: ReadonlyMap<string, string>): string {
  const state = new Map<string, string | null>();
  for (const { put } of worker.steps.slice(0, worker.synced)) for (const [file, value] of put) state.set(file, value);
  return [...worker.files].filter((file) => (heads.get(file) ?? null) !== (state.get(file) ?? null)).join(', ');
}

/** The least and the most steps that a worker can have done for its files to be as they are. */
function fittingSteps(worker: Worker, heads: ReadonlyMap<string, string>): readonly number[] {
  const state = new Map<string, string | null>();
  const fitting: number[] = [];
  const fits = (file: string, value: string | null | undefined): boolean =>
    (heads.get(file) ?? null) === (value ?? null);
  for (let steps = 0; steps <= worker.steps.length; steps++) {
    for (const [file, value] of worker.steps[steps - 1]?.put ?? []) state.set(file, value);
    if (steps < worker.synced) continue;
    if ([...worker.files].every((file) => fits(file, state.get(file)))) fitting.push(steps);
  }
  return fitting.length === 0 ? [] : [fitting[0] ?? 0, fitting.at(-1) ?? 0];
}

/** Of a file that stays open, what was flushed is its head or one of its versions, with nothing missing in between. */
function brokenDrafts(store: Store, tree: TreeRow | undefined, { held }: Marks): string[] {
  return [...held].flatMap(([file, { writes, kept }]) => {
    const contents = tree ? store.versions.of(tree.id, file).map(({ content }) => store.content(content)) : [];
    const lines = contents.map((bytes) => linesOf(bytes.toString('utf8')));
    if (kept === 0 || lines.some((count) => count >= kept && count <= writes)) return [];
    return `of ${file}, ${kept} lines were flushed and ${writes} written; its versions have ${lines.join(', ')}`;
  });
}

/** How many lines a text has that are numbered from 1; -1 when it is not such a text. */
function linesOf(text: string): number {
  const lines = text.split('\n').slice(0, -1);
  return lines.every((line, index) => line === `line ${index + 1}`) &&
    text === lines.map((line) => `${line}\n`).join('')
    ? lines.length
    : -1;
}

/** What was purged is in no file of a store's folder. */
export function traces(state: DiskState, folder: string, { purged }: Marks): string[] {
  return [...state].flatMap(([path, thing]) => {
    if (thing === 'folder' || !path.startsWith(`${folder}/`)) return [];
    const there = purged.filter((word) => thing.used.includes(word));
    return there.map((word) => `${basename(path)} has ${word}, which was purged`);
  });
}

function digest(store: Store, content: number): string {
  return store.contents.digest(content)?.sha256.toString('hex') ?? '';
}
