import { hash } from 'node:crypto';
import { PURGED } from './feed.js';
import { MemoryFiles } from './memory-files.js';
import { type Keeper, PurgeRows } from './purge-rows.js';
import type { Store } from './store.js';
import type { TreeRow } from './tree-table.js';

/** What is to be purged: a file with its whole history, or what one of its versions holds. */
export interface PurgeTarget {
  readonly tree: TreeRow;
  readonly path: string;
  readonly version?: number | undefined;
}

/** Why something is not purged; nothing was changed then. */
export type PurgeRefusal =
  | 'no such file'
  | 'no such version'
  /** The version holds what the file holds now. */
  | 'is the head'
  /** Writes to the file wait to be saved, and would bring the bytes back. */
  | 'is being written';

/** What was purged. */
export interface Purged {
  /** Numbers of the versions that are gone, newest first. */
  readonly versions: readonly number[];
  readonly keepers: readonly Keeper[];
  /** Hashes of the contents that were asked for, to find copies of them elsewhere. */
  readonly sha256: readonly Buffer[];
}

/** Says what stands in the way of a purge; for use before somebody is asked to confirm it, and again within the purge. */
export function purgeRefusal(
  store: Store,
  { tree, path, version }: PurgeTarget,
  isServed: (owner: string) => boolean,
): PurgeRefusal | undefined {
  const head = new MemoryFiles(store, tree).find(path);
  const history = store.versions.of(tree.id, path);
  if (!head && history.length === 0) return 'no such file';
  const drafts = store.drafts.ofFile(tree.id, path, head?.row.id ?? 0);
  if (version === undefined) return drafts.some(({ owner }) => isServed(owner)) ? 'is being written' : undefined;
  const content = history.find(({ number }) => number === version)?.content;
  if (content === undefined) return 'no such version';
  if (head?.content === content) return 'is the head';
  return drafts.some(({ base, first }) => base === content || first === content) ? 'is being written' : undefined;
}

/**
 * Takes a file with its history, or one content of it, out of every table of the store. What the same bytes belong to
 * besides keeps them. The pages of the database and its log may still have traces: `scrub` wipes them.
 * @param isServed tells whether a daemon lives, by the owner of its drafts; drafts of others are purged with their file
 */
export function purge(store: Store, target: PurgeTarget, isServed: (owner: string) => boolean): Purged | PurgeRefusal {
  return store.write(() => {
    const refusal = purgeRefusal(store, target, isServed);
    if (refusal) return refusal;
    const { tree, path, version } = target;
    const rows = new PurgeRows(store.db);
    const history = store.versions.of(tree.id, path);
    const chosen = history.find(({ number }) => number === version)?.content;
    if (chosen !== undefined) rows.dropVersions(tree.id, path, chosen);
    const wanted = rows.withBytes(chosen === undefined ? takeFile(store, rows, tree, path) : [chosen]);
    rows.emptyOrphans(wanted);
    const sha256 = wanted.flatMap((id) => store.contents.digest(id) ?? []).map((digest) => digest.sha256);
    for (const sent of sha256) store.disputes.settle(tree.id, path, sent);
    const held = new Set(rows.referenced(wanted));
    const keepers = [...held].flatMap((id) => rows.keepers(id));
    keepers.push(...localCopies(store, rows, sha256));
    rows.dropContents(wanted.filter((id) => !held.has(id)));
    // Earlier bytes of the file that nothing points to any more wait for the sweep.
    for (let ids = store.contents.unreferenced([]); ids.length > 0; ids = store.contents.unreferenced([]))
      store.contents.sweep(ids, []);
    rows.markUnscrubbed();
    store.feed.forgetVacated();
    store.recordChange(tree.id, PURGED);
    store.contents.forget();
    const versions = history.filter(({ content }) => chosen === undefined || content === chosen);
    return { versions: versions.map(({ number }) => number), keepers: distinct(keepers), sha256 };
  }, true);
}

/** Takes the file, its history and what sessions know of it away; gives back the contents that were all of it. */
function takeFile(store: Store, rows: PurgeRows, tree: TreeRow, path: string): number[] {
  const head = new MemoryFiles(store, tree).find(path);
  const drafts = store.drafts.ofFile(tree.id, path, head?.row.id ?? 0);
  const wanted = rows.contentsOf(tree.id, path);
  if (head) wanted.push(head.content);
  for (const draft of drafts) {
    wanted.push(...[draft.base, draft.first].filter((id) => id !== null));
    store.deleteDraft(draft.id, Number.POSITIVE_INFINITY);
  }
  store.dropHistory(tree.id, path);
  rows.forgetServed(tree.id, path);
  if (head) {
    store.moveNode({ ...head.row, parent: null, name: null, content: null, size: 0 });
    store.recordChange(tree.id, head.row.id);
  }
  return wanted;
}

/** Local files, such as backups of editors, that hold the same bytes in blocks of their own. */
function localCopies(store: Store, rows: PurgeRows, sha256: readonly Buffer[]): Keeper[] {
  const wanted = new Set(sha256.map((digest) => digest.toString('hex')));
  const sizes = rows.sizesOf(sha256);
  return rows.localFiles(sizes).flatMap(({ id, tree, size, parent }): Keeper[] => {
    if (!wanted.has(hash('sha256', store.readLocal(id, 0, size, size), 'hex'))) return [];
    if (parent !== null) return [{ tree, path: rows.pathOf(id), as: 'local file' }];
    store.deleteLocal(id);
    return [];
  });
}

function distinct(keepers: readonly Keeper[]): Keeper[] {
  return [...new Map(keepers.map((keeper) => [JSON.stringify(keeper), keeper])).values()];
}
