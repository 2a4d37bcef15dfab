import type { Command } from 'commander';
import { announceToDaemons } from '../../daemon/control-client.js';
import { realPath } from '../../daemon/mount-point.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { readSettings } from '../../daemon/settings.js';
import { usageError } from '../../errors.js';
import type { MemoryHarness } from '../../harness/adapter.js';
import { carriers } from '../../import/carrier.js';
import { importFolder } from '../../import/import-folder.js';
import type { Source } from '../../import/import-options.js';
import { originFault } from '../../import/note-origin.js';
import { SecretScanner } from '../../import/secrets.js';
import { ownFolder } from '../../import/take-in.js';
import { checkoutsOf } from '../../project/checkouts.js';
import { printable } from '../../project/printable.js';
import { findProject, projectByName } from '../../project/resolve.js';
import { storeExists } from '../../store/location.js';
import { namedMachine } from '../../store/machines.js';
import type { Project } from '../../store/projects.js';
import type { Store } from '../../store/store.js';
import { commandSession, ownStoreFolder, projectOf, repositoryOf, withStore } from '../context.js';
import { withCopyOfStore } from '../copy-of-store.js';
import type { ExitStatus } from '../exit-status.js';
import { chosenHarnesses } from '../harness-choice.js';
import {
  copiedPlaces,
  type ImportPlace,
  isEmpty,
  isLive,
  localIn,
  type NothingToImport,
  ownPlace,
} from '../import-places.js';
import { ImportReport } from '../import-report.js';
import { quoted } from '../output.js';
import { refuseOtherProjectsFolder } from '../plain-folder.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

interface ImportCommandOptions extends MemoryOptions {
  readonly dryRun?: boolean;
  readonly from?: string;
  readonly machine?: string;
  readonly harness?: string;
  readonly allowSecrets?: boolean;
}

export function addMemoryImport(command: Command, run: RunMemory): void {
  command
    .description('import the memory that agents keep for this repository on this machine, or a copy from another one')
    .option('--dry-run', 'print what the import would do, and write nothing')
    .option('--from <folder>', 'a copy of a memory folder that was brought from another machine; needs --machine')
    .option('--machine <name>', 'the machine that the copy comes from')
    .option('--harness <name>', 'only this harness')
    .option('--allow-secrets', 'import files that may hold passwords or keys, too')
    .option('--json', 'print one JSON document')
    .action((options: ImportCommandOptions) => run((merged) => importMemory(merged(options))));
}

async function importMemory(options: ImportCommandOptions): Promise<ExitStatus> {
  checkUsage(options);
  const report = new ImportReport(options.json === true);
  const choose = chosenHarnesses(options.harness);
  if (options.project !== undefined) {
    const name = options.project;
    await withTarget(options, false, async (store) => {
      const project = projectByName(store.projects, name);
      const { repositories, left } = await checkoutsOf(store.projects, project, store.machine);
      if (options.from === undefined)
        for (const { path, reason } of left) report.leave(`left out ${quoted(path)} of project "${name}": ${reason}`);
      const roots = repositories.map(({ root }) => root);
      const harnesses = choose(store, project.id);
      if (options.from === undefined) for (const root of roots) refuseFolders(store, root, () => project, harnesses);
      return importAll(store, project.id, await placesOf(roots, harnesses, options), options, report);
    });
  } else {
    const repository = await repositoryOf();
    let harnesses = choose(undefined, undefined);
    // Before it is looked whether the folder is mounted: it may be, for the other project.
    if (options.from === undefined && storeExists(ownStoreFolder()))
      await withTarget(options, false, async (store) => {
        const own = (): Project | undefined => findProject(store.projects, repository, store.machine);
        harnesses = choose(store, own()?.id);
        refuseFolders(store, repository.root, own, harnesses);
      });
    const places = await placesOf([repository.root], harnesses, options);
    // Nothing is made where there is nothing to import.
    const empty = await Promise.all(places.map((place) => 'reason' in place || isEmpty(place, repository)));
    if (empty.every((one) => one)) report.nothing(places);
    else
      await withTarget(options, true, (store) =>
        importAll(store, projectOf(store, repository).id, places, options, report),
      );
  }
  return report.end();
}

/** @throws {MendError} when a harness's folder of a checkout holds another project's memory. */
function refuseFolders(
  store: Store,
  root: string,
  own: () => Project | undefined,
  harnesses: readonly MemoryHarness[],
): void {
  for (const harness of harnesses) refuseOtherProjectsFolder(store, harness, root, own);
}

/** @throws {MendError} (usage) */
function checkUsage({ from, machine }: ImportCommandOptions): void {
  if (from !== undefined && machine === undefined)
    throw usageError('--from needs --machine: name the machine that the copy comes from');
  if (machine === undefined) return;
  if (from === undefined) throw usageError('--machine needs --from: name the folder with the copy from that machine');
  if (machine.trim() !== machine || machine === '' || printable(machine) !== machine)
    throw usageError(
      'the name given to --machine is empty or has blanks around it or control characters: give another',
    );
}

/** The store, or for a dry run a copy of it in memory. */
async function withTarget(
  { dryRun }: ImportCommandOptions,
  create: boolean,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  if (dryRun) return withCopyOfStore(create, work);
  try {
    await withStore(create, work);
  } finally {
    await announceToDaemons(runtimeFiles(ownStoreFolder()));
  }
}

async function placesOf(
  roots: readonly string[],
  harnesses: readonly MemoryHarness[],
  { from, harness }: ImportCommandOptions,
): Promise<readonly (ImportPlace | NothingToImport)[]> {
  if (from !== undefined) return copiedPlaces(harness, roots[0] ?? '', from);
  const all = await Promise.all(harnesses.flatMap((one) => roots.map((root) => ownPlace(one, root))));
  const places = harness === undefined ? all.filter((place) => !('unused' in place)) : all;
  // Checkouts of a project can have one home.
  const first = ({ harness: one, folder }: ImportPlace): number =>
    places.findIndex((other) => 'folder' in other && other.harness === one && other.folder === folder);
  return places.filter((place, at) => !('folder' in place) || first(place) === at);
}

async function importAll(
  store: Store,
  project: number,
  places: readonly (ImportPlace | NothingToImport)[],
  options: ImportCommandOptions,
  report: ImportReport,
): Promise<void> {
  const { limits, codex } = readSettings(process.env);
  const scanner = new SecretScanner();
  let session: number | undefined;
  try {
    for (const place of places) {
      if ('reason' in place || isLive(store, project, place)) {
        const live =
          'folder' in place ? `${quoted(place.folder)} is mounted: its memory is live already` : place.reason;
        report.nothing([{ harness: place.harness, reason: live }]);
        continue;
      }
      const { harness, folder } = place;
      const tree = store.treeOf(project, harness.name);
      const source = sourceOf(store, tree.id, folder, options);
      const scan = options.allowSecrets ? {} : { scan: scanner.scan.bind(scanner) };
      const read = carriers[harness.name]?.import ?? importFolder;
      await read(store, tree, folder, {
        ...{ source, limits: { ...limits, ...codex }, ...scan, maintained: harness.maintainedKeys },
        isLocal: localIn(place),
        refuse: (path, bytes) => originFault(store, { harness, project, machine: source.machine }, path, bytes),
        session: () => (session ??= commandSession(store, 'mend memory import')),
        begin: (total) => report.show(0, total),
        progress: (file, done, total) => report.file(harness, file, done, total),
      });
      report.place(harness, folder);
    }
  } finally {
    await scanner.close();
  }
}

function sourceOf(store: Store, tree: number, folder: string, { machine }: ImportCommandOptions): Source {
  // A folder that mend itself put aside is measured against what was exchanged with it.
  const own = ownFolder(store, realPath(folder));
  if (machine === undefined || store.bases.of(own.machine, own.folder, tree).size > 0) return own;
  return { machine: store.write(() => namedMachine(store.db, machine)), host: machine, folder: '' };
}
