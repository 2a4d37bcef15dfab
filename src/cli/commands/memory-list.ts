import type { Command } from 'commander';
import { readSettings } from '../../daemon/settings.js';
import { MendError } from '../../errors.js';
import { secretsOfHeads } from '../../import/secret-heads.js';
import { SecretScanner } from '../../import/secrets.js';
import { printable } from '../../project/printable.js';
import type { Repository } from '../../project/repository.js';
import { findProject } from '../../project/resolve.js';
import { MemoryFiles } from '../../store/memory-files.js';
import type { Store } from '../../store/store.js';
import type { TreeRow } from '../../store/tree-table.js';
import { displayName, hasStore, knownProject, projectHere, repositoryOf, withStore } from '../context.js';
import { uncreditedFiles, uncreditedFilesOf, uncreditedLine } from '../credit/uncredited.js';
import { refuseWords } from '../default-command.js';
import { ExitStatus } from '../exit-status.js';
import { memoryCommand } from '../memory-command.js';
import { type Advice, notesOf, notesText, type Secrets } from '../memory-notes.js';
import { complain, counted, isoTime, localTime, printJson, printLine, printTable, quoted, sized } from '../output.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

export function addMemoryList(command: Command, memory: Command, run: RunMemory): void {
  command
    .description('list the files, with what is to be settled')
    .option('--json', 'print one JSON document')
    .allowExcessArguments()
    .action((options: MemoryOptions) => {
      refuseWords(memory, command);
      return run((merged) => list(merged(options)));
    });
}

async function list(options: MemoryOptions): Promise<ExitStatus> {
  const { limits } = readSettings(process.env);
  const isFirst = !hasStore();
  const here = options.project === undefined ? await repositoryOf() : undefined;
  if (here && isFirst && listUncredited(here, options)) return ExitStatus.done;
  return withStore(false, async (store) => {
    const isNew = here && !findProject(store.projects, here, store.machine);
    if (isNew && listUncredited(here, options)) return ExitStatus.done;
    const project = here ? projectHere(store, here) : await knownProject(store, options.project);
    const trees = await listTrees(store, store.trees.ofProject(project.id), project.given);
    const rows = trees.flatMap((tree) => tree.rows);
    const uncredited = uncreditedFiles(store, project.id);
    if (options.json) {
      const files = rows.map(({ micros: _, ...row }) => ({ ...row, notes: row.notes.map(({ text }) => text) }));
      printJson(uncredited === 0 ? files : [...files, { ...OF_NO_FILE, notes: [uncreditedLine(uncredited)] }]);
      return ExitStatus.done;
    }
    if (rows.length === 0) {
      const before = store.trees.ofProject(project.id).some((tree) => store.versions.counts(tree.id).size > 0);
      printLine(
        before
          ? `project "${project.name}" has no file: ${memoryCommand(project.given, 'log')} shows what there was, and "mend memory restore" brings it back`
          : `project "${project.name}" has no memory yet`,
      );
      if (uncredited > 0) printLine(uncreditedLine(uncredited));
      return ExitStatus.done;
    }
    const cells = rows.map((row) => [
      row.harness,
      quoted(displayName(row.harness, row.file)),
      String(row.bytes),
      localTime(row.micros),
      String(row.versions),
      notesText(row.notes),
    ]);
    printTable(['harness', 'file', 'bytes', 'modified', 'versions', ''], cells, [2, 4]);
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    printLine(`\n${counted(rows.length, 'file')}, ${sized(bytes)} of ${sized(limits.bytes)}`);
    if (uncredited > 0) printLine(uncreditedLine(uncredited));
    for (const { what, todo } of trees.flatMap((tree) => tree.advice))
      complain(todo === undefined ? what : `${what}: ${todo}`);
    return ExitStatus.done;
  });
}

/** For somebody without memory of a repository: lists what nobody was credited with, if there is any. */
function listUncredited(repository: Repository, options: MemoryOptions): boolean {
  const files = uncreditedFilesOf(repository);
  if (files === 0) return false;
  if (options.json) printJson([{ ...OF_NO_FILE, notes: [uncreditedLine(files)] }]);
  else {
    printLine(`${printable(repository.root)} has no memory yet`);
    printLine(uncreditedLine(files));
  }
  return true;
}

/** What an entry of `--json` has that is about the project. */
const OF_NO_FILE = { harness: null, file: null, bytes: null, modified: null, versions: null } as const;

async function listTrees(store: Store, trees: readonly TreeRow[], given: string | undefined) {
  const scanner = new SecretScanner();
  try {
    const listed = [];
    for (const tree of trees) {
      const { secrets, advice } = await findSecrets(store, tree, scanner);
      const list = store.db.transaction(() => listTree(store, tree, secrets, given))();
      listed.push({ ...list, advice: [...list.advice, ...advice] });
    }
    return listed;
  } finally {
    await scanner.close();
  }
}

/** A scanner that does not start is no reason to list nothing. */
async function findSecrets(
  store: Store,
  tree: TreeRow,
  scanner: SecretScanner,
): Promise<{ readonly secrets: Secrets; readonly advice: readonly Advice[] }> {
  try {
    return { secrets: await secretsOfHeads(store, tree, scanner), advice: [] };
  } catch (error) {
    if (!(error instanceof MendError)) throw error;
    return { secrets: new Map(), advice: [{ what: error.message, todo: undefined }] };
  }
}

function listTree(store: Store, tree: TreeRow, secrets: Secrets, given: string | undefined) {
  const counts = store.versions.counts(tree.id);
  const files = new MemoryFiles(store, tree).list();
  const { notes, advice } = notesOf(store, tree, files, { secrets, given });
  const rows = files.map(({ path, row }) => ({
    harness: tree.harness,
    file: path,
    bytes: row.size,
    modified: isoTime(row.mtime),
    micros: row.mtime,
    versions: counts.get(path)?.versions ?? 0,
    notes: notes.get(path) ?? [],
  }));
  return { rows, advice };
}
