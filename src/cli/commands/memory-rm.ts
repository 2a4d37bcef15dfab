import type { Command } from 'commander';
import { announceToDaemons } from '../../daemon/control-client.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { carriers } from '../../import/carrier.js';
import { commandSession, knownProject, ownStoreFolder, parseFileName, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { existingFile } from '../named-file.js';
import { printLine } from '../output.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

export function addMemoryRm(command: Command, run: RunMemory): void {
  command
    .description('remove files; what they held stays as a version')
    .argument('<file...>')
    .action((files: string[], options: MemoryOptions) => run((merged) => remove(files, merged(options))));
}

async function remove(texts: readonly string[], options: MemoryOptions): Promise<ExitStatus> {
  const names = texts.map((text) => parseFileName(text, options.project));
  const removed = await withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    return store.write(() => {
      const session = commandSession(store, 'mend memory rm');
      const files = names.map((name) => existingFile(store, project, name));
      const distinct = [...new Map(files.map((file) => [file.shown, file])).values()];
      for (const { memory, head, tree, path } of distinct) {
        carriers[tree.harness]?.removed(store, tree, path, store.content(head.content));
        memory.remove(head, session);
      }
      return distinct.map(({ shown }) => shown);
    });
  });
  await announceToDaemons(runtimeFiles(ownStoreFolder()));
  for (const file of removed) printLine(`removed ${file}`);
  return ExitStatus.done;
}
