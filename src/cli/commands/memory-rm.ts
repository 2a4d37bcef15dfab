import type { Command } from 'commander';
import { announceToDaemons } from '../../daemon/control-client.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { carriers } from '../../import/carrier.js';
import { commandSession, knownProject, ownStoreFolder, parseFileName, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { existingFile } from '../named-file.js';
import { archiveCopy } from '../note-archive.js';
import { printLine, quoted } from '../output.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

export function addMemoryRm(command: Command, run: RunMemory): void {
  command
    .description('remove files; what they held stays as a version')
    .addHelpText('after', HELP)
    .argument('<file...>')
    .action((files: string[], options: MemoryOptions) => run((merged) => remove(files, merged(options))));
}

const HELP = `
A note of project-memory is moved to its archive, with a timestamp in its name.
"mend memory restore" brings it back from there.`;

async function remove(texts: readonly string[], options: MemoryOptions): Promise<ExitStatus> {
  const names = texts.map((text) => parseFileName(text, options.project));
  const removed = await withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    return store.write(() => {
      const session = commandSession(store, 'mend memory rm');
      const files = names.map((name) => existingFile(store, project, name));
      const distinct = [...new Map(files.map((file) => [file.shown, file])).values()];
      return distinct.map((file) => {
        const { memory, head, tree, path, shown } = file;
        carriers[tree.harness]?.removed(store, tree, path, store.content(head.content));
        const to = archiveCopy(store, project, file, session);
        memory.remove(head, session);
        return to === undefined ? `removed ${shown}` : `moved ${shown} to ${quoted(to)}`;
      });
    });
  });
  await announceToDaemons(runtimeFiles(ownStoreFolder()));
  for (const line of removed) printLine(line);
  return ExitStatus.done;
}
