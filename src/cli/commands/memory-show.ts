import type { Command } from 'commander';
import { knownProject, parseFileName, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { existingFile, namedFile, parseVersion, versionOf } from '../named-file.js';
import { printContent } from '../output.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

interface ShowOptions extends MemoryOptions {
  readonly version?: string;
}

export function addMemoryShow(command: Command, run: RunMemory): void {
  command
    .description('print a file, or one of its versions')
    .argument('<file>')
    .option('--version <number>', 'this version, as "mend memory log" numbers them')
    .action((file: string, options: ShowOptions) => run((merged) => show(file, merged(options))));
}

async function show(text: string, options: ShowOptions): Promise<ExitStatus> {
  const name = parseFileName(text, options.project);
  const number = options.version === undefined ? undefined : parseVersion(options.version, options.project);
  const bytes = await withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    if (number === undefined) return store.content(existingFile(store, project, name).head.content);
    return store.content(versionOf(namedFile(store, project, name), number).content);
  });
  await printContent(bytes);
  return ExitStatus.done;
}
