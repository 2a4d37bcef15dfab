import type { Command } from 'commander';
import { MemoryFiles } from '../../store/memory-files.js';
import type { Store } from '../../store/store.js';
import type { TreeRow } from '../../store/tree-table.js';
import { displayName, knownProject, withStore } from '../context.js';
import { refuseWords } from '../default-command.js';
import { ExitStatus } from '../exit-status.js';
import { counted, isoTime, localTime, printJson, printLine, printTable, quoted } from '../output.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

export function addMemoryList(command: Command, memory: Command, run: RunMemory): void {
  command
    .description('list the files')
    .option('--json', 'print one JSON document')
    .allowExcessArguments()
    .action((options: MemoryOptions) => {
      refuseWords(memory, command);
      return run((merged) => list(merged(options)));
    });
}

async function list(options: MemoryOptions): Promise<ExitStatus> {
  return withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    const rows = store.trees.ofProject(project.id).flatMap((tree) => listTree(store, tree));
    if (options.json) {
      printJson(rows.map(({ micros: _, ...row }) => row));
      return ExitStatus.done;
    }
    if (rows.length === 0) printLine(`project "${project.name}" has no memory yet`);
    else {
      const cells = rows.map((row) => [
        row.harness,
        quoted(displayName(row.harness, row.file)),
        String(row.bytes),
        localTime(row.micros),
        String(row.versions),
        row.notes.join(', '),
      ]);
      printTable(['harness', 'file', 'bytes', 'modified', 'versions', ''], cells, [2, 4]);
    }
    return ExitStatus.done;
  });
}

function listTree(store: Store, tree: TreeRow) {
  const counts = store.versions.counts(tree.id);
  return new MemoryFiles(store, tree).list().map(({ path, row }) => {
    const { versions = 0, conflicts = 0, interrupted = 0 } = counts.get(path) ?? {};
    const notes = [
      ...(conflicts > 0 ? [counted(conflicts, 'conflict')] : []),
      ...(interrupted > 0 ? [counted(interrupted, 'interrupted save')] : []),
    ];
    return {
      harness: tree.harness,
      file: path,
      bytes: row.size,
      modified: isoTime(row.mtime),
      micros: row.mtime,
      versions,
      notes,
    };
  });
}
