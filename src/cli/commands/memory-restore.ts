import type { Command } from 'commander';
import { announceToDaemons } from '../../daemon/control-client.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { readSettings } from '../../daemon/settings.js';
import { isSystemError, MendError } from '../../errors.js';
import { carriers } from '../../import/carrier.js';
import type { Limits } from '../../ports/limits.js';
import type { Store } from '../../store/store.js';
import { commandSession, knownProject, ownStoreFolder, parseFileName, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { memoryCommand } from '../memory-command.js';
import { type NamedFile, namedFile, parseVersion, versionOf } from '../named-file.js';
import { takeFromArchive } from '../note-archive.js';
import { printLine, quoted } from '../output.js';
import { waitingConflicts } from '../waiting-conflicts.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

interface RestoreOptions extends MemoryOptions {
  readonly version: string;
}

export function addMemoryRestore(command: Command, run: RunMemory): void {
  command
    .description('make a version what the file holds again, also of a file that was removed')
    .argument('<file>')
    .requiredOption('--version <number>', 'this version, as "mend memory log" numbers them')
    .action((file: string, options: RestoreOptions) => run((merged) => restore(file, merged(options))));
}

async function restore(text: string, options: RestoreOptions): Promise<ExitStatus> {
  const name = parseFileName(text, options.project);
  const number = parseVersion(options.version, options.project);
  const { limits } = readSettings(process.env);
  const said = await withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    return store.write(() => {
      const file = namedFile(store, project, name);
      const version = versionOf(file, number);
      const bytes = store.content(version.content);
      const restored = (): void => carriers[file.tree.harness]?.restored(store, file.tree, file.path, bytes);
      if (file.head?.content === version.content) {
        restored();
        return keep(store, file, number);
      }
      refuseOverLimit(store, file, version.bytes, limits);
      putBack(store, file, bytes);
      restored();
      const from = takeFromArchive(store, project, file, version.content, commandSession(store, 'mend memory restore'));
      return `restored version ${number} of ${file.shown}${from === undefined ? '' : ` from ${quoted(from)}`}`;
    });
  });
  await announceToDaemons(runtimeFiles(ownStoreFolder()));
  printLine(said);
  return ExitStatus.done;
}

/** Leaves a file as it is; a conflict that waited is settled by that. */
function keep(store: Store, { head, path, history, shown }: NamedFile, number: number): string {
  if (!head || waitingConflicts(store, head.content, history).length === 0)
    return `${shown} holds version ${number} already`;
  store.recordHead(head.row, path, 'restored', commandSession(store, 'mend memory restore'));
  return `${shown} stays as version ${number} has it, which settles its conflict`;
}

/** @throws {MendError} when the file cannot lie where it lay. */
function putBack(store: Store, { memory, path, shown }: NamedFile, bytes: Buffer): void {
  try {
    memory.put(path, bytes, { kind: 'restored', session: commandSession(store, 'mend memory restore') });
  } catch (error) {
    if (isSystemError(error, 'EISDIR'))
      throw new MendError(`${shown} cannot be restored, as a folder has its name now: rename or remove the folder`);
    if (isSystemError(error, 'ENOTDIR'))
      throw new MendError(
        `${shown} cannot be restored, as one of its folders is a file now: rename or remove that file`,
      );
    throw error;
  }
}

/** @throws {MendError} when the project would have more than it may (spec §3.5). */
function refuseOverLimit(store: Store, { tree, head, shown, given }: NamedFile, bytes: number, limits: Limits): void {
  const usage = store.trees.usage(tree.project);
  const refuse = (limit: string): never => {
    throw new MendError(
      `${shown} cannot be restored over the limit of ${limit}: ${memoryCommand(given)} lists what could go`,
    );
  };
  if (bytes > limits.fileBytes && bytes > (head?.row.size ?? 0)) refuse(`${limits.fileBytes} bytes for one file`);
  if (!head && usage.files >= limits.files) refuse(`${limits.files} files`);
  const more = bytes - (head?.row.size ?? 0);
  if (more > 0 && usage.bytes + more > limits.bytes) refuse(`${limits.bytes} bytes`);
}
