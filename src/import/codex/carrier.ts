import { lstatSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isSystemError } from '../../errors.js';
import { ROOTS } from '../../harness/codex/memory-version.js';
import { ASIDE } from '../../harness/codex/prepare-home.js';
import { readMark, userHome } from '../../harness/codex/user-home.js';
import { codex } from '../../harness/codex.js';
import { describeError, log } from '../../log.js';
import { carried } from '../../store/carried.js';
import type { Store } from '../../store/store.js';
import type { CarriedPlace, Carrier, CarryLimits } from '../carrier.js';
import type { Skipped } from '../folder-reader.js';
import { takeIn } from '../take-in.js';
import { type ConversationFile, conversationFiles } from './conversation-files.js';
import { readMeta } from './conversation-meta.js';
import { type ConversationOwner, ownerByProject, ownerByRepository } from './conversation-owner.js';
import { databaseFaults, faultOfError, formFault } from './database-faults.js';
import { bringConversations, takeConversations } from './home-conversations.js';
import { bringSummaries, type HomeConversations, SUMMARY_DATABASES, takeSummaries } from './home-summaries.js';
import { importSummaries } from './import-summaries.js';
import { mountPoints } from './mount-points.js';
import { purgeSummary, removeSummary } from './remove-summary.js';
import { restoreSummary } from './restore-summary.js';
import { userSummaries } from './user-summaries.js';
import { keepFoldersOut, namesIn, withhold } from './withhold.js';

/** What Codex's memory needs beside its folder: the database of summaries, and conversations. */
export const codexCarrier: Carrier = {
  async bring(store, place, limits) {
    const id = readMark(place.home)?.id;
    if (id === undefined) return [];
    const skipped = [...(await take(store, place, id, limits, false)), ...(await takeAside(store, place, limits))];
    skipped.push(...(await bring(store, place, id, limits)));
    // What could not be taken could not be brought either.
    return [...new Map(skipped.map((one) => [`${one.path}\0${one.reason}`, one])).values()];
  },
  async take(store, place, limits, hurry = false) {
    const id = readMark(place.home)?.id;
    if (id === undefined) return [];
    if (!hurry) await takeOther(store, place, limits);
    const skipped = await take(store, place, id, limits, hurry);
    // Files that came from elsewhere are there at once: without their rows Codex would delete them.
    const isNews = hurry && brought.get(place.home) !== newsOf(store, place);
    return isNews ? [...skipped, ...(await bring(store, place, id, limits))] : skipped;
  },
  refused(store, { tree, home }) {
    const id = readMark(home)?.id;
    if (id === undefined) return [];
    return (
      carried(store.db)
        .summaries.refused(tree.id, id)
        // One that was moved away since then is nothing to settle any more.
        .filter(({ source }) => lstatSync(join(home, source), { throwIfNoEntry: false }) !== undefined)
        .map(({ source, refused }) => ({ path: source, reason: refused }))
    );
  },
  async withhold(store, { tree, home }, since) {
    const id = readMark(home)?.id;
    if (id !== undefined) await withhold(store, { tree: tree.id, home, id }, since);
  },
  keepOut({ home }, since) {
    keepFoldersOut(home, since);
  },
  knows(store, tree, home) {
    const id = readMark(home)?.id;
    const { summaries, conversations } = carried(store.db);
    return id !== undefined && (summaries.knows(tree.id, id) || conversations.seen(tree.id, id).size > 0);
  },
  faults: databaseFaults,
  userHome,
  async count(home, repository) {
    return (await userSummaries(home, ownerByRepository(repository))).length;
  },
  import: importSummaries,
  removed: removeSummary,
  purged: purgeSummary,
  restored: restoreSummary,
};

/** Has a home know the summaries that the store has, with the beginnings of their conversations. */
async function bring(store: Store, place: CarriedPlace, id: string, limits: CarryLimits): Promise<Skipped[]> {
  const { home, checkout } = place;
  const tree = place.tree.id;
  const source = sourceOf(place);
  const news = newsOf(store, place);
  const skipped: Skipped[] = [];
  if (source !== undefined)
    skipped.push(
      ...(await unlessBroken(source, async () => {
        await bringSummaries(store, { tree, home: id, source }, home, limits.summaryBytes);
        return undefined;
      })),
    );
  skipped.push(
    ...(await unlessBroken('sessions', async () => {
      bringConversations(store, { tree, home, id }, checkout);
      return undefined;
    })),
  );
  brought.set(home, news);
  return skipped;
}

/** The summaries that each home was brought last, and into which database. */
const brought = new Map<string, string>();

function newsOf(store: Store, place: CarriedPlace): string {
  const source = sourceOf(place);
  const file = source === undefined ? undefined : lstatSync(join(place.home, source), { throwIfNoEntry: false });
  return `${file?.ino ?? 0} ${carried(store.db).summaries.fingerprint(place.tree.id)}`;
}

/** The database that belongs to the memory folder in use. */
function sourceOf({ folder }: CarriedPlace): string | undefined {
  return Object.entries(SUMMARY_DATABASES).find(([root]) => root === basename(folder))?.[1];
}

async function take(
  store: Store,
  place: CarriedPlace,
  id: string,
  limits: CarryLimits,
  hurry: boolean,
): Promise<Skipped[]> {
  const { tree, home } = place;
  const skipped: Skipped[] = [];
  for (const source of Object.values(SUMMARY_DATABASES)) {
    const state = stateOf(join(home, source));
    if (hurry && states.get(join(home, source)) === state) continue;
    skipped.push(
      ...(await unlessBroken(source, async () => {
        const reason = formFault(join(home, source));
        if (reason !== undefined) return { path: source, reason };
        return takeSummaries(
          store,
          { tree: tree.id, home: id, source },
          home,
          conversationsIn(home),
          limits.summaryBytes,
        );
      })),
    );
    states.set(join(home, source), state);
  }
  skipped.push(
    ...(await unlessBroken('sessions', async () => {
      await takeConversations(store, { tree: tree.id, home, id }, ownerFor(store, tree.project, hurry), limits);
      return undefined;
    })),
  );
  return skipped;
}

/** How long, in ms, looks in a hurry go by what was found out of folders: to look into one starts Git. */
const OWNER_FOR = 60_000;
const owners = new WeakMap<Store, Map<number, { readonly owner: ConversationOwner; readonly until: number }>>();

function ownerFor(store: Store, project: number, hurry: boolean): ConversationOwner {
  const known = owners.get(store) ?? new Map();
  owners.set(store, known);
  const last = known.get(project);
  if (hurry && last && performance.now() < last.until) return last.owner;
  const owner = ownerByProject(store, project);
  known.set(project, { owner, until: performance.now() + OWNER_FOR });
  return owner;
}

/** What databases were like when they were copied last, by their path. */
const states = new Map<string, string>();

/** What changes when a database is written to. */
function stateOf(file: string): string {
  return ['', '-wal']
    .map((end) => lstatSync(`${file}${end}`, { bigint: true, throwIfNoEntry: false }))
    .map((stat) => (stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : ''))
    .join('\n');
}

/** A database or conversations that cannot be used keep nobody from working: what is in the store stays there. */
async function unlessBroken(source: string, work: () => Promise<Skipped | undefined>): Promise<Skipped[]> {
  try {
    const skipped = await work();
    return skipped ? [skipped] : [];
  } catch (error) {
    if (!isSystemError(error)) throw error;
    log('warn', 'a part of a home was passed over', { source, error: describeError(error) });
    return [{ path: source, reason: faultOfError(error) }];
  }
}

/** What the files of a home say of its conversations; they are looked for when the first one is asked for. */
function conversationsIn(home: string): HomeConversations {
  let files: ReadonlyMap<string, ConversationFile> | undefined;
  const fileOf = (thread: string): ConversationFile | undefined => {
    files ??= new Map(conversationFiles(home).map((file) => [file.thread, file]));
    return files.get(thread);
  };
  return {
    has: (thread) => fileOf(thread) !== undefined,
    metaOf(thread) {
      const file = fileOf(thread);
      const meta = file === undefined || file.compressed ? undefined : readMeta(join(home, file.place));
      return meta === undefined ? null : JSON.stringify(meta);
    },
  };
}

/**
 * Takes in a memory folder of another version than the one that is mounted: a Codex that was started without mend's arguments
 * can have made it.
 */
async function takeOther(store: Store, { tree, home, folder }: CarriedPlace, limits: CarryLimits): Promise<void> {
  const mounts = mountPoints();
  for (const root of Object.values(ROOTS)) {
    const other = join(home, root);
    // Nothing under a mount is touched: this process may be the one that serves it.
    if (other === folder || mounts.has(other) || !isFolder(other)) continue;
    await takeIn(store, tree, other, codex, limits);
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Takes in memory folders of a version that is not in use any more (`prepareHome`), and does away with them. */
async function takeAside(store: Store, { tree, home }: CarriedPlace, limits: CarryLimits): Promise<Skipped[]> {
  const aside = join(home, ASIDE);
  const skipped: Skipped[] = [];
  for (const name of namesIn(aside)) {
    const folder = join(aside, name);
    const files = await takeIn(store, tree, folder, codex, limits);
    const left = files.filter(({ outcome }) => outcome === 'skipped' || outcome === 'conflict');
    for (const { path, reason } of left)
      skipped.push({ path: `${ASIDE}/${name}/${path}`, reason: reason ?? 'was left out' });
    if (left.length === 0) rmSync(folder, { recursive: true, force: true });
  }
  return skipped;
}
