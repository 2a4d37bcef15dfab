import { randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../../errors.js';
import { ROOTS } from '../../harness/codex/memory-version.js';
import { ASIDE } from '../../harness/codex/prepare-home.js';
import { carried } from '../../store/carried.js';
import type { Store } from '../../store/store.js';
import { conversationFiles } from './conversation-files.js';
import type { CarriedHome } from './home-conversations.js';
import { SUMMARY_DATABASES } from './home-summaries.js';
import { mountPoints } from './mount-points.js';
import { droppedDigest } from './retention.js';
import { copySummaries } from './summary-database.js';
import { digestOf } from './summary-row.js';

/** Folder in a home for memory folders that a shared session may have written to, which are never taken in. */
const WITHHELD = 'withheld-memories';

/** µs by which the time that a kernel gives a file may be behind the clock. */
const TICK = 20_000;

/**
 * Sees to it that nothing of what was done in a home since a time is ever taken into the store: neither what is new there,
 * whatever time it says of itself, nor that something is gone.
 * @param since µs since the epoch; nothing was taken from the home, nor brought there, since then
 */
export async function withhold(store: Store, home: CarriedHome, since: number): Promise<void> {
  const from = since - TICK;
  const files = conversationFiles(home.home);
  const held = files.filter(({ mtime, changed }) => Math.max(mtime, changed) >= from).map(({ thread }) => thread);
  const present = new Set(files.map(({ thread }) => thread));
  const summed = new Map<string, readonly string[]>();
  const gone = new Map<string, readonly string[]>();
  for (const source of Object.values(SUMMARY_DATABASES)) {
    const { changed, dropped } = await changedSummaries(store, home, source);
    summed.set(source, changed);
    gone.set(source, dropped);
  }
  const { conversations, summaries } = carried(store.db);
  store.write(() => {
    conversations.withhold(home.tree, [...held, ...[...summed.values()].flat()]);
    for (const thread of conversations.seen(home.tree, home.id))
      if (!present.has(thread)) conversations.unsee(home.tree, home.id, thread);
    for (const [source, threads] of gone)
      for (const thread of threads) summaries.deleteBase({ tree: home.tree, home: home.id, source }, thread);
  }, true);
  keepFoldersOut(home.home, since);
}

/** The summaries of a home that are not those which it had in common with the store last, and those of which it has none now. */
async function changedSummaries(
  store: Store,
  { tree, home, id }: CarriedHome,
  source: string,
): Promise<{ readonly changed: readonly string[]; readonly dropped: readonly string[] }> {
  const copy = await copySummaries(join(home, source), Number.POSITIVE_INFINITY);
  if (!copy) return { changed: [], dropped: [] };
  const { summaries } = carried(store.db);
  const bases = summaries.bases({ tree, home: id, source });
  const stored = new Map(summaries.of(tree).map((row) => [row.thread, row]));
  const changed = [...copy.rows.values()].filter((row) => bases.get(row.thread)?.equals(digestOf(row)) !== true);
  const dropped = [...bases].filter(([thread, both]) => {
    const known = stored.get(thread);
    // What Codex had dropped for its age before stays dropped.
    return !copy.rows.has(thread) && !(known && both.equals(droppedDigest(digestOf(known))));
  });
  return { changed: changed.map(({ thread }) => thread), dropped: dropped.map(([thread]) => thread) };
}

/**
 * Moves memory folders of a home that were changed since a time, and would be taken in, to where none is. What is mounted is no
 * folder of the home.
 * @param since µs since the epoch
 */
export function keepFoldersOut(home: string, since: number): void {
  const from = since - TICK;
  const mounts = mountPoints();
  const aside = namesIn(join(home, ASIDE)).map((name) => join(ASIDE, name));
  for (const place of [...Object.values(ROOTS), ...aside]) {
    const folder = join(home, place);
    if (mounts.has(folder) || !isChangedSince(folder, from)) continue;
    mkdirSync(join(home, WITHHELD), { recursive: true, mode: 0o700 });
    const name = `${place.split('/').at(-1)}.${randomBytes(6).toString('hex')}`;
    renameSync(folder, join(home, WITHHELD, name));
  }
}

/** By the time that the kernel notes of every change, which nobody can set. */
function isChangedSince(path: string, from: number): boolean {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!stat) return false;
  if (Number(stat.ctimeNs / 1000n) >= from) return true;
  return stat.isDirectory() && namesIn(path).some((name) => isChangedSince(join(path, name), from));
}

/** Names in a folder; none where there is no folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return [];
    throw error;
  }
}
