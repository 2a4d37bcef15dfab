import type { Command } from 'commander';
import { announceToDaemons } from '../../daemon/control-client.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { MendError, usageError } from '../../errors.js';
import { type MemoryFile, MemoryFiles } from '../../store/memory-files.js';
import type { Project } from '../../store/projects.js';
import type { Store } from '../../store/store.js';
import type { TreeRow } from '../../store/tree-table.js';
import {
  displayName,
  type FileName,
  knownProject,
  ownStoreFolder,
  parseFileName,
  treeOf,
  withStore,
} from '../context.js';
import { refuseWords } from '../default-command.js';
import { ExitStatus } from '../exit-status.js';
import { counted, isoTime, localTime, printJson, printLine, printTable, quoted } from '../output.js';
import { addMemoryLog } from './memory-log.js';

interface MemoryOptions {
  readonly project?: string;
  readonly json?: boolean;
}

type Run = (work: () => Promise<ExitStatus>) => Promise<void>;

export function addMemory(program: Command, run: Run): void {
  const memory = program
    .command('memory')
    .description('list, show, remove memory files, and what they were')
    .option('--project <name>', 'the project, from any folder')
    .option('--json', 'print one JSON document');
  // Options may be given before or after the subcommand's name.
  const merged = (options: MemoryOptions): MemoryOptions => ({ ...memory.opts<MemoryOptions>(), ...options });
  const common = (command: Command): Command => command.option('--project <name>', 'the project, from any folder');
  common(memory.command('list', { isDefault: true }).description('list the files'))
    .option('--json', 'print one JSON document')
    .allowExcessArguments()
    .action((options: MemoryOptions, command: Command) => {
      refuseWords(memory, command);
      return run(() => list(merged(options)));
    });
  common(memory.command('show').description('print a file, or one of its versions'))
    .argument('<file>')
    .option('--version <number>', 'this version, as "mend memory log" numbers them')
    .action((file: string, options: MemoryOptions & { version?: string }) =>
      run(() => show(file, options.version, merged(options))),
    );
  common(memory.command('rm').description('remove files; what they held stays as a version'))
    .argument('<file...>')
    .action((files: string[], options: MemoryOptions) => run(() => remove(files, merged(options))));
  addMemoryLog(common(memory.command('log')), (work) => run(() => work(merged)));
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

async function show(text: string, version: string | undefined, options: MemoryOptions): Promise<ExitStatus> {
  const name = parseFileName(text);
  if (version !== undefined && !/^[1-9]\d*$/.test(version)) {
    throw usageError(`${quoted(version)} is not the number of a version: "mend memory log" lists them`);
  }
  const bytes = await withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    if (version === undefined) return store.content(existing(store, project, name).file.content);
    const tree = treeOf(store, project, name.harness);
    const found = tree
      ? store.versions.of(tree.id, name.path).find((row) => String(row.number) === version)
      : undefined;
    if (!found) throw new MendError(`${quoted(text)} has no version ${version}: "mend memory log" lists them`);
    return store.content(found.content);
  });
  await new Promise<void>((resolve, reject) =>
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve())),
  );
  return ExitStatus.done;
}

async function remove(texts: readonly string[], options: MemoryOptions): Promise<ExitStatus> {
  const names = texts.map(parseFileName);
  const removed = await withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    return store.write(() => {
      const session = store.sessionRow({ key: `command/${process.pid}/${store.now}`, name: 'mend memory rm' });
      const found = [
        ...new Map(
          names.map((name) => [displayName(name.harness, name.path), existing(store, project, name)]),
        ).values(),
      ];
      for (const { memory, file } of found) memory.remove(file, session);
      return found.map(({ file }, i) => displayName(names[i]?.harness ?? 'claude', file.path));
    });
  });
  await announceToDaemons(runtimeFiles(ownStoreFolder()));
  for (const file of removed) printLine(`removed ${quoted(file)}`);
  return ExitStatus.done;
}

function existing(store: Store, project: Project, name: FileName): { memory: MemoryFiles; file: MemoryFile } {
  const tree = treeOf(store, project, name.harness);
  const memory = tree ? new MemoryFiles(store, tree) : undefined;
  const file = memory?.find(name.path);
  if (memory && file) return { memory, file };
  const shown = quoted(displayName(name.harness, name.path));
  if (tree && store.versions.of(tree.id, name.path).length > 0) {
    throw new MendError(
      `${shown} was removed from project "${project.name}": "mend memory log" lists the versions that are kept of it`,
    );
  }
  throw new MendError(`project "${project.name}" has no memory file ${shown}: "mend memory" lists the files`);
}
