import type { Command } from 'commander';
import type { ExitStatus } from '../exit-status.js';
import { addMemoryDiff } from './memory-diff.js';
import { addMemoryExport } from './memory-export.js';
import { addMemoryImport } from './memory-import.js';
import { addMemoryList } from './memory-list.js';
import { addMemoryLog } from './memory-log.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';
import { addMemoryPurge } from './memory-purge.js';
import { addMemoryRestore } from './memory-restore.js';
import { addMemoryRm } from './memory-rm.js';
import { addMemorySearch } from './memory-search.js';
import { addMemoryShow } from './memory-show.js';

export function addMemory(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  const memory = program
    .command('memory')
    .description('import, list, search, show, compare, restore, export and remove memory files')
    .summary('import, list, search, show, compare, restore, remove, export')
    .option('--project <name>', 'the project, from any folder')
    .option('--json', 'print one JSON document');
  const runMemory: RunMemory = (work) =>
    run(() => work((options) => ({ ...memory.opts<MemoryOptions>(), ...options })));
  const command = (name: string, isDefault = false): Command =>
    memory.command(name, { isDefault }).option('--project <name>', 'the project, from any folder');
  addMemoryList(command('list', true), memory, runMemory);
  addMemoryShow(command('show'), runMemory);
  addMemorySearch(command('search'), runMemory);
  addMemoryImport(command('import'), runMemory);
  addMemoryLog(command('log'), runMemory);
  addMemoryDiff(command('diff'), runMemory);
  addMemoryRestore(command('restore'), runMemory);
  addMemoryExport(command('export'), runMemory);
  addMemoryRm(command('rm'), runMemory);
  addMemoryPurge(command('purge'), runMemory);
}
