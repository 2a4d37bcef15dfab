import { join } from 'node:path';
import { carried } from '../../store/carried.js';
import { MemoryFiles } from '../../store/memory-files.js';
import type { Store } from '../../store/store.js';
import type { TreeRow } from '../../store/tree-table.js';
import type { CarriedImport } from '../carrier.js';
import { FileImport } from '../file-import.js';
import type { ImportedFile, Scan } from '../import-options.js';
import { left, unlessInTheWay } from '../in-the-way.js';
import { ownerByProject } from './conversation-owner.js';
import { keepTemplate, SUMMARY_DATABASES } from './home-summaries.js';
import { readOnly } from './read-only.js';
import { readSummaries } from './summary-database.js';
import { summaryFile } from './summary-file.js';
import { columnsOf, isNewer, textOf } from './summary-row.js';
import { type UserSummary, userSummaries } from './user-summaries.js';

/** What became of a file for which its summary is to be known in the store. */
const IN_MEMORY: ReadonlySet<ImportedFile['outcome']> = new Set(['same', 'added', 'merged', 'updated']);

/** Imports the summaries of a project's conversations from a home of the user that has those of many projects. */
export async function importSummaries(
  store: Store,
  tree: TreeRow,
  home: string,
  options: CarriedImport,
): Promise<ImportedFile[]> {
  const summaries = await userSummaries(home, ownerByProject(store, tree.project, options.source.machine));
  const memory = new MemoryFiles(store, tree);
  const most = options.limits.summaryBytes;
  const imported: ImportedFile[] = [];
  options.begin?.(summaries.length);
  for (const found of summaries) {
    const { path, bytes, mtime } = summaryFile(found.summary, found.meta, home);
    const scan = options.scan && withNotes(options.scan, found);
    const own = { ...options, ...(scan ? { scan } : {}) };
    const file =
      bytes.length > options.limits.fileBytes
        ? left(path, `is larger than ${options.limits.fileBytes} bytes`)
        : await unlessInTheWay(path, () =>
            importOne(store, tree, found, most, () =>
              new FileImport(store, tree, memory, { path, target: path, bytes, mtime }, own).run(),
            ),
          );
    imported.push(file);
    options.progress?.(file, imported.length, summaries.length);
  }
  if (summaries.length > 0) keepTemplates(store, tree, home, most);
  return imported;
}

/** Codex drops the files of summaries that its database does not know: a home that has none yet is given one like this. */
function keepTemplates(store: Store, tree: TreeRow, home: string, most: number): void {
  for (const source of Object.values(SUMMARY_DATABASES)) {
    const bytes = readOnly(join(home, source), (db) => db.serialize());
    const copy = bytes && readSummaries(bytes, most);
    const template = copy?.template;
    if (!copy || !template) continue;
    // How much was consolidated there is about another memory.
    store.write(() => keepTemplate(store, { tree: tree.id, source }, { ...copy, progress: 0 }, template), true);
  }
}

/** What Codex noted for itself of a conversation is stored with the summary, so it is searched for secrets, too. */
function withNotes(scan: Scan, { summary }: UserSummary): Scan {
  const notes = Buffer.from(textOf(columnsOf(summary), 'raw_memory'));
  return async (path, bytes) => {
    const findings = await scan(path, bytes);
    return findings.length > 0 || notes.length === 0 ? findings : scan(path, notes);
  };
}

async function importOne(
  store: Store,
  tree: TreeRow,
  { summary, meta }: UserSummary,
  most: number,
  run: () => Promise<ImportedFile>,
): Promise<ImportedFile> {
  if (wouldBeTooMuch(store, tree, summary, most))
    return left(summary.thread, `is over the limit of ${most} bytes for what Codex knows of its summaries`);
  const file = await run();
  const isNews = (): boolean => {
    const known = carried(store.db)
      .summaries.of(tree.id)
      .find(({ thread }) => thread === summary.thread);
    return !known || isNewer(summary, known);
  };
  if (IN_MEMORY.has(file.outcome) && isNews())
    store.write(() => {
      if (isNews()) carried(store.db).summaries.put(tree.id, { ...summary, meta: JSON.stringify(meta) });
    }, true);
  return file;
}

function wouldBeTooMuch(store: Store, tree: TreeRow, summary: UserSummary['summary'], most: number): boolean {
  const bytes = carried(store.db)
    .summaries.of(tree.id)
    .filter(({ thread }) => thread !== summary.thread)
    .reduce((sum, known) => sum + Buffer.byteLength(known.row), 0);
  return bytes + Buffer.byteLength(summary.row) > most;
}
