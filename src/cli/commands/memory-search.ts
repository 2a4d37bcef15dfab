import type { Command } from 'commander';
import { isText } from '../../merge/is-text.js';
import { MemoryFiles } from '../../store/memory-files.js';
import type { Store } from '../../store/store.js';
import type { Span } from '../../store/text-index.js';
import type { TreeRow } from '../../store/tree-table.js';
import { displayName, knownProject, withStore } from '../context.js';
import { excerpt } from '../excerpt.js';
import { ExitStatus } from '../exit-status.js';
import { coloured, counted, printJson, printLine, quoted } from '../output.js';
import { type Document, type Found, searchDocuments } from '../search-documents.js';
import { parseSearchWords, type SearchWord } from '../search-words.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

interface SearchOptions extends MemoryOptions {
  readonly allVersions?: boolean;
}

/** A content of a file. */
interface Content extends Document {
  readonly harness: string;
  readonly path: string;
  /** The versions that hold it, oldest first. */
  readonly versions: readonly number[];
  /** True for what the file holds now. */
  readonly isHead: boolean;
}

/** Columns of a line when the output is no terminal. */
const COLUMNS = 120;

export function addMemorySearch(command: Command, run: RunMemory): void {
  command
    .description('find the files that have all the words, in the text or in the name')
    .argument('<words...>', 'words; in quotes a phrase, with * at its end the beginning of a word')
    .option('--all-versions', 'search what was replaced or removed, too')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      '\nCase and accents make no difference. Shown are the lines with the most of the\nwords. That nothing is found is no failure: the exit status is 0.',
    )
    .action((words: string[], options: SearchOptions) => run((merged) => search(words, merged(options))));
}

async function search(args: readonly string[], options: SearchOptions): Promise<ExitStatus> {
  const words = parseSearchWords(args);
  const all = options.allVersions === true;
  return withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    const found = find(store, store.trees.ofProject(project.id), all, words);
    if (options.json) printJson(found.flatMap((one) => entries(one, all)));
    else if (found.length > 0) print(found, all);
    else {
      const what = all ? 'no version of a memory file' : 'no memory file';
      printLine(`${what} of project "${project.name}" has ${words.length === 1 ? 'this word' : 'these words'}`);
      if (!all) printLine('  --all-versions searches what was replaced or removed, too');
    }
    return ExitStatus.done;
  });
}

/** Searches in one transaction, so that no content goes away meanwhile. */
function find(store: Store, trees: readonly TreeRow[], all: boolean, words: readonly SearchWord[]): Found<Content>[] {
  const contents = function* () {
    for (const tree of trees) yield* all ? versionsOf(store, tree) : headsOf(store, tree);
  };
  return store.db.transaction(() => searchDocuments(contents(), words))();
}

function* headsOf(store: Store, tree: TreeRow): Iterable<Content> {
  for (const { path, content } of new MemoryFiles(store, tree).list())
    yield { ...textOf(store, tree, path, content), versions: [], isHead: true };
}

/** Every content that is kept of a file, once, the newest first. */
function* versionsOf(store: Store, tree: TreeRow): Iterable<Content> {
  const heads = new Map(new MemoryFiles(store, tree).list().map(({ path, content }) => [path, content]));
  const paths = [...new Set([...heads.keys(), ...store.versions.counts(tree.id).keys()])].sort();
  for (const path of paths) {
    const head = heads.get(path);
    const numbers = new Map<number, number[]>(head === undefined ? [] : [[head, []]]);
    for (const { content, number } of store.versions.of(tree.id, path))
      numbers.set(content, [number, ...(numbers.get(content) ?? [])]);
    for (const [content, versions] of numbers)
      yield { ...textOf(store, tree, path, content), versions, isHead: content === head };
  }
}

function textOf(store: Store, { harness }: TreeRow, path: string, content: number) {
  const bytes = store.content(content);
  return { harness, path, name: displayName(harness, path), body: isText(bytes) ? bytes.toString() : '' };
}

function print(found: readonly Found<Content>[], all: boolean): void {
  const columns = process.stdout.isTTY ? process.stdout.columns || COLUMNS : COLUMNS;
  for (const { document, name, lines } of found) {
    printLine(`${heading(document.name, name)}${all ? `  ${versionsText(document)}` : ''}`);
    const digits = String(lines.at(-1)?.number ?? 0).length;
    for (const { number, text, spans } of lines) {
      const label = `  ${String(number).padStart(digits)}: `;
      printLine(`${label}${excerpt(text, spans, Math.max(20, columns - label.length))}`);
    }
  }
  const files = new Set(found.map(({ document }) => document.name)).size;
  const lines = counted(
    found.reduce((sum, one) => sum + one.lines.length, 0),
    'line',
  );
  const contents = all ? `${counted(found.length, 'content')} of ` : '';
  printLine(`\nfound in ${contents}${counted(files, 'file')}, ${lines}`);
}

function heading(name: string, spans: readonly Span[]): string {
  const shown = quoted(name);
  return shown === name ? excerpt(name, spans, Number.POSITIVE_INFINITY) : coloured('bold', shown);
}

function versionsText({ versions, isHead }: Content): string {
  const numbers =
    versions.length === 0 ? 'not a version' : `version${versions.length > 1 ? 's' : ''} ${versions.join(', ')}`;
  return `${numbers}${isHead ? ' (now)' : ''}`;
}

/** What was found, for scripts: an entry for each line, and with all versions for each version that has it. */
function entries({ document, lines }: Found<Content>, all: boolean) {
  const { harness, path, versions } = document;
  const found = lines.length > 0 ? lines : [{ number: null, text: null }];
  const numbers = versions.length > 0 ? versions : [null];
  return (all ? numbers : [undefined]).flatMap((version) =>
    found.map(({ number, text }) => ({
      harness,
      file: path,
      ...(version === undefined ? {} : { version }),
      line: number,
      text,
    })),
  );
}
