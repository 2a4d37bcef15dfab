import type { Command } from 'commander';
import { announceToDaemons } from '../../daemon/control-client.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { MendError } from '../../errors.js';
import { carriers } from '../../import/carrier.js';
import { MemoryFiles } from '../../store/memory-files.js';
import { type PurgeRefusal, type PurgeTarget, purge, purgeRefusal } from '../../store/purge.js';
import { needsScrub } from '../../store/purge-rows.js';
import { dropBackups } from '../../store/scrub.js';
import type { Store } from '../../store/store.js';
import { confirmName } from '../confirm-name.js';
import {
  type ChosenProject,
  displayName,
  knownProject,
  ownStoreFolder,
  parseFileName,
  servingDaemons,
  treeOf,
  withStore,
} from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { memoryCommand } from '../memory-command.js';
import { noSuchFile, parseVersion } from '../named-file.js';
import { complain, counted, printLine, quoted } from '../output.js';
import { describeKeeper, settlePlainFiles, tellDropped } from '../purge-report.js';
import { wipe, wipeAgain } from '../wipe.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

interface PurgeOptions extends MemoryOptions {
  readonly version?: string;
  readonly confirm?: string;
}

export function addMemoryPurge(command: Command, run: RunMemory): void {
  command
    .description('destroy a file and its whole history, or one version, for good')
    .argument('<file>')
    .option('--version <number>', 'only what this version holds; every version that\nholds the same goes')
    .option('--confirm <name>', "the file's name once more, in place of being asked")
    .addHelpText('after', HELP)
    .action((file: string, options: PurgeOptions) => run((merged) => purgeCommand(file, merged(options))));
}

const HELP = `
This cannot be undone: the bytes are wiped from the store's files. On a
terminal you are asked to type the name of the file. What the file holds now
is not purged by its version: restore another first, or purge the whole file.`;

async function purgeCommand(text: string, options: PurgeOptions): Promise<ExitStatus> {
  const name = parseFileName(text, options.project);
  const version = options.version === undefined ? undefined : parseVersion(options.version, options.project);
  return withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    let owners = await servingDaemons();
    const isServed = (owner: string): boolean => owners.includes(owner);
    const tree = treeOf(store, project, name.harness);
    const shown = displayName(name.harness, name.path);
    if (!tree) throw noSuchFile(project, shown);
    const target: PurgeTarget = { tree, path: name.path, version };
    const refusal = purgeRefusal(store, target, isServed);
    if (refusal === 'no such file' && needsScrub(store.db)) {
      // It may be what was purged; its name is kept nowhere.
      complain(noSuchFile(project, shown).message);
      return wipeAgain(store, owners);
    }
    if (refusal) throw refused(refusal, shown, project, version);
    await confirm(shown, version, options.confirm);
    // It may have taken a while.
    owners = await servingDaemons();
    const contents = contentsOf(store, target);
    let threads: readonly string[] = [];
    const result = store.write(() => {
      const purged = purge(store, target, isServed);
      // What would bring the file back goes with it.
      if (typeof purged !== 'string')
        threads = carriers[tree.harness]?.purged(store, tree, name.path, contents, version === undefined) ?? [];
      return purged;
    }, true);
    if (typeof result === 'string') throw refused(result, shown, project, version);
    await announceToDaemons(runtimeFiles(ownStoreFolder()));
    const wiped = wipe(store, owners);
    const { versions, keepers, sha256 } = result;
    const what = counted(versions.length, 'version');
    printLine(
      version === undefined
        ? `purged ${quoted(shown)} with ${what}`
        : `purged version${versions.length > 1 ? 's' : ''} ${versions.join(', ')} of ${quoted(shown)}`,
    );
    const isDropped = tellDropped(dropBackups(store, { tree: tree.id, path: name.path, sha256, threads }));
    const settled = settlePlainFiles(store, target, sha256);
    store.write(() => store.contents.sweep([], []));
    for (const keeper of keepers) complain(describeKeeper(store, project, keeper));
    return wiped && isDropped && settled && keepers.length === 0 ? ExitStatus.done : ExitStatus.unsettled;
  });
}

/** What is to be purged: all that a file holds and held, or one version of it. */
function contentsOf(store: Store, { tree, path, version }: PurgeTarget): Buffer[] {
  const history = store.versions.of(tree.id, path).filter(({ number }) => version === undefined || number === version);
  const head = version === undefined ? new MemoryFiles(store, tree).find(path)?.content : undefined;
  const ids = new Set([...history.map(({ content }) => content), ...(head === undefined ? [] : [head])]);
  return [...ids].flatMap((id) => store.contentIfKept(id) ?? []);
}

/** @throws {MendError} unless the name of the file was given, or is typed now. */
function confirm(shown: string, version: number | undefined, given: string | undefined): Promise<void> {
  const whole = version === undefined ? `${quoted(shown)} and its whole history` : undefined;
  const what = whole ?? `version ${version} of ${quoted(shown)}`;
  return confirmName({ name: shown, noun: 'file', what, deed: 'purged', doing: 'purging', given });
}

function refused(refusal: PurgeRefusal, shown: string, project: ChosenProject, version: number | undefined): MendError {
  const file = quoted(shown);
  switch (refusal) {
    case 'no such file':
      return noSuchFile(project, shown);
    case 'no such version':
      return new MendError(`${file} has no version ${version}: ${memoryCommand(project.given, 'log')} lists them`);
    case 'is the head':
      return new MendError(
        `version ${version} is what ${file} holds now: restore another version or remove the file first, or purge the whole file`,
      );
    case 'is being written':
      return new MendError(
        `${file} has writes that are not saved yet and would bring it back: end the program that has it open ("mend status" names it), or run "mend unmount --force", and try again`,
      );
  }
}
