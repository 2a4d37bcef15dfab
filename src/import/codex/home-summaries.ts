import { join } from 'node:path';
import { carried } from '../../store/carried.js';
import type { Store } from '../../store/store.js';
import type { SourceKey, Summary } from '../../store/summary-table.js';
import type { Skipped } from '../folder-reader.js';
import { retentionOf } from './retention.js';
import { changeSummaries, copySummaries, isThere, makeDatabase, type SummaryCopy } from './summary-database.js';
import { planSummaries } from './summary-plan.js';
import { digestOf, withUseOf } from './summary-row.js';

/** Databases of a home with summaries, by version of the memory. */
export const SUMMARY_DATABASES = { memories: 'memories_1.sqlite', memories_v2: 'memories_v2_1.sqlite' } as const;

/** Times that a copy is made anew when somebody else took in a newer one meanwhile. */
const TRIES = 3;

/** What the files of a home say of its conversations. */
export interface HomeConversations {
  has(thread: string): boolean;
  /** What there is to say of a conversation besides its summary. */
  metaOf(thread: string): string | null;
}

/**
 * Takes what Codex has summed up into the store.
 * @returns why not, when the database is over the limit
 */
export async function takeSummaries(
  store: Store,
  key: SourceKey,
  home: string,
  held: HomeConversations,
  most: number,
): Promise<Skipped | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    const taken = store.now;
    const copy = await copySummaries(join(home, key.source), most);
    if (!copy) return undefined;
    const result = takeCopy(store, key, copy, taken, home, held, most);
    if (result !== 'outdated') return result;
  }
  return undefined;
}

function takeCopy(
  store: Store,
  key: SourceKey,
  copy: SummaryCopy,
  taken: number,
  home: string,
  held: HomeConversations,
  most: number,
): Skipped | undefined | 'outdated' {
  const { summaries } = carried(store.db);
  const { tree, source } = key;
  const { mayDrop, drops } = retentionOf(home, store.now);
  // With the conversation its summary was removed, whatever the age of it.
  const retention = { mayDrop: (row: Summary) => mayDrop(row) && held.has(row.thread), drops };
  return store.write(() => {
    const known = summaries.source(key);
    if (known && known.taken >= taken) return 'outdated';
    const { made } = copy;
    if (known && known.made !== made) summaries.clearBases(key);
    const refuse = (bytes: number): Skipped => {
      const refused = `is over the limit of ${most} bytes for what Codex knows of its summaries (${bytes})`;
      summaries.putSource(key, { made, taken, refused });
      return { path: source, reason: refused };
    };
    if (!copy.template) return refuse(copy.bytes);
    const stored = new Map(summaries.of(tree).map((row) => [row.thread, row]));
    const withheld = carried(store.db).conversations.withheld(tree);
    const plan = planSummaries(copy.rows, stored, summaries.bases(key), withheld, retention);
    for (const thread of plan.dropFromStore) {
      stored.delete(thread);
      summaries.delete(tree, thread);
      summaries.deleteBase(key, thread);
    }
    const added = plan.toStore.map((row) => ({
      ...withUseOf(row, stored.get(row.thread)),
      meta: held.metaOf(row.thread),
    }));
    for (const row of added) stored.set(row.thread, row);
    const bytes = [...stored.values()].reduce((sum, { row }) => sum + Buffer.byteLength(row), 0);
    if (bytes > most) return refuse(bytes);
    for (const row of added) {
      summaries.put(tree, row);
      summaries.putBase(key, row.thread, digestOf(row));
    }
    for (const [thread, digest] of plan.common) {
      summaries.putBase(key, thread, digest);
      const known = stored.get(thread);
      const used = known && withUseOf(known, copy.rows.get(thread));
      if (used && used !== known) summaries.put(tree, used);
    }
    for (const [thread, digest] of plan.dropped) summaries.putBase(key, thread, digest);
    for (const thread of plan.gone) summaries.deleteBase(key, thread);
    keepTemplate(store, key, copy, copy.template);
    summaries.putSource(key, { made, taken, refused: null });
    return undefined;
  }, true);
}

/** Keeps a database without its rows, for homes that have none. For use within `Store.write`. */
export function keepTemplate(
  store: Store,
  { tree, source }: Pick<SourceKey, 'tree' | 'source'>,
  copy: Pick<SummaryCopy, 'edition' | 'progress'>,
  bytes: Buffer,
): void {
  const { edition, progress } = copy;
  const known = carried(store.db).summaries.template(tree, source);
  if (known && known.edition >= edition && known.progress >= progress) return;
  const newer = !known || edition > known.edition ? { edition, bytes } : { edition: known.edition, bytes: known.bytes };
  carried(store.db).summaries.putTemplate(tree, source, {
    ...newer,
    progress: Math.max(progress, known?.progress ?? 0),
  });
}

/**
 * Has a home know the summaries that the store has, and makes its database where there is none yet. What the home has to say
 * was taken in before (`takeSummaries`).
 */
export async function bringSummaries(store: Store, key: SourceKey, home: string, most: number): Promise<void> {
  const { summaries } = carried(store.db);
  const { tree, source } = key;
  const file = join(home, source);
  const template = summaries.template(tree, source);
  if (!isThere(file)) {
    if (!template) return;
    // What an earlier database of this home had in common with the store says nothing of a new one.
    store.write(() => summaries.clearBases(key), true);
    makeDatabase(file, template.bytes);
  }
  const copy = await copySummaries(file, most);
  if (!copy?.template) return;
  const stored = new Map(summaries.of(tree).map((row) => [row.thread, row]));
  const withheld = carried(store.db).conversations.withheld(tree);
  const plan = planSummaries(copy.rows, stored, summaries.bases(key), withheld, retentionOf(home, store.now));
  const used = [...plan.common.keys()].flatMap((thread) => {
    const [here, there] = [copy.rows.get(thread), stored.get(thread)];
    return here && there && withUseOf(here, there) !== here ? [there] : [];
  });
  const progress = template && template.progress > copy.progress ? template.progress : 0;
  if (plan.toHome.length + plan.dropFromHome.length + used.length === 0 && progress === 0) return;
  const bases = summaries.bases(key);
  const drop = new Map(
    plan.dropFromHome.flatMap((thread) => {
      const digest = bases.get(thread);
      return digest ? [[thread, digest] as const] : [];
    }),
  );
  changeSummaries(file, { put: plan.toHome, used, drop, progress });
  store.write(() => {
    for (const row of plan.toHome) summaries.putBase(key, row.thread, digestOf(row));
    for (const thread of plan.dropFromHome) summaries.deleteBase(key, thread);
  }, true);
}
