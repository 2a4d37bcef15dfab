import type { Command } from 'commander';
import { MOUNT_TYPE, mountTable } from '../../daemon/mount-point.js';
import { readSettings } from '../../daemon/settings.js';
import { signOfLife } from '../../daemon/sign-of-life.js';
import { MendError } from '../../errors.js';
import type { MemoryHarness } from '../../harness/adapter.js';
import { memoryHarnesses } from '../../harness/registry.js';
import { carriers } from '../../import/carrier.js';
import { type FolderListing, listFolder } from '../../import/folder-reader.js';
import type { Repository } from '../../project/repository.js';
import { findProject } from '../../project/resolve.js';
import { shellWord } from '../../project/shell-word.js';
import type { Project } from '../../store/projects.js';
import type { Store } from '../../store/store.js';
import { hasStore, repositoryOf, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { usedHarnesses } from '../harness-choice.js';
import { memoryFolderOf } from '../harness-place.js';
import { ownPlace } from '../import-places.js';
import { complain, counted, printJson, printLine, quoted } from '../output.js';
import { refuseOtherProjectsFolder } from '../plain-folder.js';

/** What a harness keeps; an entry of `--json`. */
interface Found {
  readonly harness: string;
  readonly folder: string | null;
  /** Null when they cannot be counted. */
  readonly files: number | null;
  /** What lies in the folder and would not be imported. */
  readonly skipped: number;
  /** True when the folder is mounted and answers. */
  readonly live: boolean;
  /** What keeps the memory from being adopted, and what to do: a sentence without its end. */
  readonly fault: string | null;
}

/** What is looked at. */
interface Sight {
  readonly repository: Repository;
  /** Undefined when there is none yet. */
  readonly store: Store | undefined;
  readonly fileBytes: number;
}

export function addAdopt(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  program
    .command('adopt')
    .description('say how much memory agents keep for this repository on this machine')
    .summary('say how much memory agents keep for this repository')
    .option('--json', 'print one JSON document')
    .action((options: { json?: boolean }) => run(() => adopt(options.json === true)));
}

async function adopt(json: boolean): Promise<ExitStatus> {
  const repository = await repositoryOf();
  const { limits } = readSettings(process.env);
  const look = async (store?: Store): Promise<Found[]> => {
    const sight = { repository, store, fileBytes: limits.fileBytes };
    const project = store && projectIfAgreed(store, repository);
    const found = await Promise.all(usedHarnesses(store, project?.id).map((harness) => lookAt(harness, sight)));
    return found.filter((one) => one !== undefined);
  };
  const found = hasStore() ? await withStore(false, look) : await look();
  if (json) printJson(found.map(({ skipped: _, ...entry }) => entry));
  else for (const one of found) print(one);
  const faults = found.filter(({ fault }) => fault !== null).length;
  if (faults === 0) return ExitStatus.done;
  return faults === found.length ? ExitStatus.failed : ExitStatus.unsettled;
}

/** Undefined, too, where path and remote disagree, which each harness's folder is told to have as a fault. */
function projectIfAgreed(store: Store, repository: Repository): Project | undefined {
  try {
    return findProject(store.projects, repository, store.machine);
  } catch (error) {
    if (error instanceof MendError) return undefined;
    throw error;
  }
}

/** What one harness keeps; undefined where it has one home for all, and none here. What is wrong with its folder keeps nobody from being told of the others. */
async function lookAt(harness: MemoryHarness, { repository, store, fileBytes }: Sight): Promise<Found | undefined> {
  const unknown = { harness: harness.name, folder: null, files: null, skipped: 0, live: false };
  let folder: string | null = null;
  try {
    folder = memoryFolderOf(harness, repository.root, undefined) ?? null;
    // Before it is looked whether the folder is mounted: it may be, for the other project.
    if (store)
      refuseOtherProjectsFolder(store, harness, repository.root, () =>
        findProject(store.projects, repository, store.machine),
      );
    const place = await ownPlace(harness, repository.root);
    const carrier = carriers[harness.name];
    if (carrier) {
      if ('reason' in place) return undefined;
      const files = await carrier.count(place.folder, repository);
      return { ...unknown, folder: place.folder, files, fault: null };
    }
    const live = folder !== null && mountTable().get(folder) === MOUNT_TYPE;
    const { files, skipped } =
      folder === null || ('reason' in place && !live) ? NOTHING : await listing(harness, folder, live, fileBytes);
    return { ...unknown, folder, files: files.length, skipped: skipped.length, live, fault: null };
  } catch (error) {
    if (!(error instanceof MendError)) throw error;
    return { ...unknown, folder, fault: error.message };
  }
}

const NOTHING: FolderListing = { files: [], skipped: [] };

/** @throws {MendError} when the folder cannot be read. */
async function listing(
  harness: MemoryHarness,
  folder: string,
  live: boolean,
  fileBytes: number,
): Promise<FolderListing> {
  if (live && (await signOfLife(folder)) !== 'answers')
    throw new MendError(`the mount on ${quoted(folder)} does not answer: "mend doctor" looks into it`);
  const found = listFolder(folder, (path) => harness.isLocal(path), fileBytes);
  const whole = found.skipped.find(({ path }) => path === '.');
  if (!whole) return found;
  throw new MendError(
    `the memory folder ${quoted(folder)} ${whole.reason}: make it one that you may read, as with chmod u+rwx ${shellWord(folder)}`,
  );
}

function print({ harness, folder, files, skipped, live, fault }: Found): void {
  if (fault !== null) {
    complain(fault);
    return;
  }
  const title = memoryHarnesses.find((one) => one.name === harness)?.title ?? harness;
  const count = counted(files ?? 0, 'memory file');
  printLine(`${title} keeps ${count} for this repository in ${quoted(folder ?? '')}`);
  const [they, them] = files === 1 ? ['it is', 'it'] : ['they are', 'them'];
  if (live) printLine(`  ${they} live: the folder is mounted`);
  else if (files !== 0 && carriers[harness])
    printLine(`  "mend memory import" brings ${them} into the store; "mend run ${harness}" gives them to the agent`);
  else if (files !== 0)
    printLine(`  "mend memory import" brings ${them} into the store; "mend mount" does so, too, and mounts the folder`);
  else if (!carriers[harness]) printLine('  "mend mount" mounts the folder');
  if (skipped > 0)
    printLine(`  ${counted(skipped, 'entry', 'entries')} would be left out: "mend memory import --dry-run" says why`);
}
