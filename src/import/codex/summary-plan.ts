import type { Summary } from '../../store/summary-table.js';
import { droppedDigest, type Retention } from './retention.js';
import { digestOf, isNewer } from './summary-row.js';

type Row = Omit<Summary, 'meta'>;

/** What has to be done so that a home and the store know the same summaries. */
export interface SummaryPlan<Home extends Row, Stored extends Row> {
  readonly toStore: readonly Home[];
  readonly toHome: readonly Stored[];
  /** Conversations whose summary was removed from the other side. */
  readonly dropFromStore: readonly string[];
  readonly dropFromHome: readonly string[];
  /** Conversations whose summary a home has dropped for its age (`Retention`), with what stands for that. */
  readonly dropped: ReadonlyMap<string, Buffer>;
  /** What both have, with its digest. */
  readonly common: ReadonlyMap<string, Buffer>;
  /** What neither has any more. */
  readonly gone: readonly string[];
}

/**
 * Compares the summaries of a home with those of the store, by conversation. What one side has and the other never had is
 * added there; what both had and one removed is removed, unless the other changed it; of two the newer one counts. What a
 * home has dropped for its age stays in the store, and goes back into the home when it was used elsewhere. Pure.
 * @param base digests of what both had last
 * @param withheld conversations of which nothing is taken from the home; it is given what it never had
 */
export function planSummaries<Home extends Row, Stored extends Row>(
  home: ReadonlyMap<string, Home>,
  store: ReadonlyMap<string, Stored>,
  base: ReadonlyMap<string, Buffer>,
  withheld: ReadonlySet<string>,
  { mayDrop, drops }: Retention,
): SummaryPlan<Home, Stored> {
  const toStore: Home[] = [];
  const toHome: Stored[] = [];
  const dropFromStore: string[] = [];
  const dropFromHome: string[] = [];
  const dropped = new Map<string, Buffer>();
  const common = new Map<string, Buffer>();
  const gone: string[] = [];
  for (const thread of new Set([...home.keys(), ...store.keys(), ...base.keys()])) {
    const here = home.get(thread);
    const there = store.get(thread);
    const both = base.get(thread);
    if (withheld.has(thread)) {
      if (there && !here && !both) toHome.push(there);
      continue;
    }
    const unchanged = (row: Row): boolean => both?.equals(digestOf(row)) === true;
    if (here && there) {
      const digest = digestOf(here);
      if (digest.equals(digestOf(there))) common.set(thread, digest);
      else if (unchanged(here) || (!unchanged(there) && isNewer(there, here))) toHome.push(there);
      else toStore.push(here);
    } else if (here) {
      if (unchanged(here)) dropFromHome.push(thread);
      else toStore.push(here);
    } else if (there) {
      const absent = droppedDigest(digestOf(there));
      if (unchanged(there)) {
        if (mayDrop(there)) dropped.set(thread, absent);
        else dropFromStore.push(thread);
      } else if (both?.equals(absent) !== true || !drops(there)) toHome.push(there);
    } else gone.push(thread);
  }
  return { toStore, toHome, dropFromStore, dropFromHome, dropped, common, gone };
}
