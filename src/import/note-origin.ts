import { existsSync } from 'node:fs';
import type { MemoryHarness } from '../harness/adapter.js';
import { isText } from '../merge/is-text.js';
import { printable } from '../project/printable.js';
import { shellWord, shellWords } from '../project/shell-word.js';
import { machineName } from '../store/machines.js';
import { MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';

/** Whose a note is to be. */
export interface NoteOwner {
  readonly harness: MemoryHarness;
  /** Row id. */
  readonly project: number;
  /** Row id of the machine that the note comes from. */
  readonly machine: number;
}

/**
 * Why a note is not one of a project, by the paths of checkouts that it names: each has to be known as a checkout of the
 * project, on the machine that the note comes from if it is known there at all. Goes on after the note's name; undefined
 * when nothing is wrong.
 */
export function originFault(
  store: Store,
  { harness, project, machine }: NoteOwner,
  path: string,
  bytes: Buffer,
): string | undefined {
  const { origin } = harness;
  if (!origin || !isText(bytes)) return undefined;
  const named = origin
    .pathsIn(path, bytes.toString())
    ?.map((one) => (isOf(store, one, project, machine) ? one : one.trimEnd()));
  const own = store.projects.list(store.machine).find(({ id }) => id === project);
  if (named?.length === 0)
    return `has no line "${origin.label} <path>" that says which checkout it is of, so it is not taken for one of project "${own?.name}": add the line`;
  const other = named?.find((one) => !isOf(store, one, project, machine));
  if (other === undefined) return undefined;
  const says = `says "${origin.label} ${printable(other)}", which is`;
  const owner = store.projects.pathOwners(other).find((one) => one.project !== project);
  if (owner)
    return `${says} a checkout of project "${owner.name}", not of "${own?.name}": move the note away, or correct that line`;
  const isHere = machine === store.machine && existsSync(other);
  const where = isHere ? '' : `--machine ${shellWord(machineName(store.db, machine))} `;
  const link = `mend project link ${where}${shellWords(own?.name ?? '', other)}`;
  return `${says} not known as a checkout of project "${own?.name}": if it is one, or was, run "${link}"`;
}

function isOf(store: Store, path: string, project: number, machine: number): boolean {
  const owners = store.projects.pathOwners(path);
  const there = owners.find((one) => one.machine === machine);
  return there ? there.project === project : owners.some((one) => one.project === project);
}

/**
 * Adds the path of a checkout to the notes of a tree that name others of the same project, so that an agent there finds its
 * own. A note that names none, or one of another project, stays as it is.
 * @returns whether anything was changed
 */
export function nameCheckout(store: Store, tree: TreeRow, harness: MemoryHarness, root: string): boolean {
  const { origin } = harness;
  if (!origin?.withPath) return false;
  const owner = { harness, project: tree.project, machine: store.machine };
  const memory = new MemoryFiles(store, tree);
  const change = (): boolean => {
    let changed = false;
    for (const { path, content } of memory.list()) {
      const bytes = store.content(content);
      const text = isText(bytes) ? bytes.toString() : '';
      const named = origin.pathsIn(path, text) ?? [];
      if (
        named.length === 0 ||
        named.some((one) => one === root || one.trimEnd() === root) ||
        originFault(store, owner, path, bytes) !== undefined
      )
        continue;
      const more = origin.withPath?.(path, text, root);
      if (more === undefined) continue;
      const session = store.sessionRow({ key: `mount/${process.pid}/${store.now}`, name: 'mend mount' });
      memory.put(path, Buffer.from(more), { kind: 'saved', session });
      changed = true;
    }
    return changed;
  };
  return store.write(change);
}
