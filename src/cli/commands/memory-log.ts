import type { Command } from 'commander';
import type { VersionRow } from '../../store/version-table.js';
import { displayName, knownProject, parseFileName, treeOf, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { memoryCommand } from '../memory-command.js';
import { noSuchFile } from '../named-file.js';
import { isoTime, localTime, printJson, printLine, printTable, quoted } from '../output.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

export function addMemoryLog(command: Command, run: RunMemory): void {
  command
    .description('the versions that are kept, newest first')
    .argument('[file]')
    .option('--json', 'print one JSON document')
    .action((file: string | undefined, options: MemoryOptions) => run((merged) => showLog(file, merged(options))));
}

async function showLog(text: string | undefined, options: MemoryOptions): Promise<ExitStatus> {
  const name = text === undefined ? undefined : parseFileName(text, options.project);
  return withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    const trees = name ? [treeOf(store, project, name.harness)] : store.trees.ofProject(project.id);
    const rows = trees.flatMap((tree) => {
      if (!tree) return [];
      const versions = name ? store.versions.of(tree.id, name.path) : store.versions.all(tree.id);
      return versions.map((version) => ({ harness: tree.harness, version }));
    });
    if (name && rows.length === 0) throw noSuchFile(project, displayName(name.harness, name.path), 'versions of');
    if (options.json)
      printJson(rows.map(({ harness, version }) => document(displayName(harness, version.path), version)));
    else if (rows.length > 0) {
      const cells = rows.map(({ harness, version }) => [
        quoted(displayName(harness, version.path)),
        String(version.number),
        version.kind,
        localTime(version.at),
        String(version.bytes),
        version.session ?? '-',
        version.machine ?? '-',
        note(project.given, displayName(harness, version.path), version),
      ]);
      printTable(['file', 'version', 'kind', 'when', 'bytes', 'session', 'machine', ''], cells, [1, 4]);
    } else printLine(`project "${project.name}" has no versions yet`);
    return ExitStatus.done;
  });
}

/** What a version is when it was never the file's content, and how to see where it came from when it was merged. */
function note(given: string | undefined, file: string, { kind, number, written }: VersionRow): string {
  if (kind === 'interrupted') return '! cut short: never was what the file holds';
  if (kind === 'conflict') return '! could not be merged: kept aside';
  if (kind === 'merged' && written !== null)
    return `${memoryCommand(given, 'diff', file, [String(number)])} shows the three sides`;
  return '';
}

function document(file: string, { number, kind, at, session, machine, bytes, sha256 }: VersionRow) {
  return { file, version: number, kind, when: isoTime(at), session, machine, bytes, sha256: sha256.toString('hex') };
}
