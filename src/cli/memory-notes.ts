import type { MemoryHarness } from '../harness/adapter.js';
import { findHarness } from '../harness/registry.js';
import { type IndexWarnings, indexWarnings } from '../import/index-warnings.js';
import { originFault } from '../import/note-origin.js';
import { NOT_SCANNED, type SecretFinding } from '../import/secrets.js';
import { isText } from '../merge/is-text.js';
import type { MemoryFile } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import { displayName } from './context.js';
import { memoryCommand } from './memory-command.js';
import { counted, quoted } from './output.js';
import { waitingConflicts } from './waiting-conflicts.js';

/** What a person should know of a file, in a few words; those that say the same of several lines have a short form. */
export interface FileNote {
  readonly text: string;
  /** Stands in a table for all notes of this kind when there is more than one. */
  readonly several?: (count: number) => string;
}

/** Likely secrets by path. */
export type Secrets = ReadonlyMap<string, readonly SecretFinding[]>;

/** What is wrong, and what to do: one sentence, without its end, in two parts. */
export interface Advice {
  readonly what: string;
  /** Undefined when there is nothing to add. */
  readonly todo: string | undefined;
}

/** What there is to say of a tree. */
export interface TreeNotes {
  readonly notes: ReadonlyMap<string, readonly FileNote[]>;
  readonly advice: readonly Advice[];
}

/** What is known of a tree beside its files. */
export interface TreeFacts {
  readonly secrets: Secrets;
  /** Name of the project where a command needs it, as it is not that of the current folder. */
  readonly given: string | undefined;
}

/** Names that a sentence has before it says how many more there are. */
const NAMED = 3;
/** Conflicts that are told one by one. */
const TOLD = 5;

/** Collects what the list of a tree warns of (spec §8). */
export function notesOf(
  store: Store,
  tree: TreeRow,
  files: readonly MemoryFile[],
  { secrets, given }: TreeFacts,
): TreeNotes {
  const notes = new Map<string, FileNote[]>();
  const advice: Advice[] = [];
  const collected: Collected = {
    given,
    add: (path, note) => notes.set(path, [...(notes.get(path) ?? []), note]),
    advise: (what, todo) => advice.push({ what, todo }),
  };
  noteVersions(store, tree, files, collected);
  const harness = findHarness(tree.harness);
  if (harness?.keepsMemory) {
    noteIndex(store, harness, files, collected);
    noteOrigins(store, tree, harness, files, collected);
  }
  noteSecrets(tree, files, secrets, collected);
  return { notes, advice };
}

/** The notes of a file as one cell of a table. */
export function notesText(notes: readonly FileNote[]): string {
  const texts = notes.map((note) => {
    const alike = note.several ? notes.filter(({ several }) => several === note.several).length : 1;
    return alike > 1 ? (note.several?.(alike) ?? note.text) : note.text;
  });
  return [...new Set(texts)].join(', ');
}

/** Where notes and advice go. */
interface Collected {
  readonly given: string | undefined;
  readonly add: (path: string, note: FileNote) => void;
  readonly advise: (what: string, todo?: string) => void;
}

function noteVersions(store: Store, tree: TreeRow, files: readonly MemoryFile[], to: Collected): void {
  const counts = store.versions.counts(tree.id);
  const told: (readonly [what: string, todo: string])[] = [];
  for (const { path, content } of files) {
    const { conflicts = 0, interrupted = 0 } = counts.get(path) ?? {};
    const history = conflicts > 0 ? store.versions.of(tree.id, path) : [];
    const waiting = waitingConflicts(store, content, history);
    const [newest] = waiting;
    if (newest) {
      to.add(path, { text: counted(waiting.length, 'conflict') });
      const name = displayName(tree.harness, path);
      const own = history.find((row) => row.content === content)?.number;
      const choice = own === undefined ? '' : `, or with --version ${own} to keep what the file holds`;
      const diff = memoryCommand(to.given, 'diff', name, [String(newest.number)]);
      const restore = memoryCommand(to.given, 'restore', name, ['--version', String(newest.number)]);
      told.push([
        `${quoted(name)} has a conflict that waits`,
        `see ${diff}, then run ${restore} to take the other side${choice}`,
      ]);
    }
    if (interrupted > 0) to.add(path, { text: counted(interrupted, 'interrupted save') });
  }
  for (const sentence of told.slice(0, TOLD)) to.advise(...sentence);
  if (told.length > TOLD) to.advise(`${counted(told.length - TOLD, 'more file')} have a conflict that waits`);
}

function noteIndex(
  store: Store,
  { index, title, name }: MemoryHarness,
  files: readonly MemoryFile[],
  to: Collected,
): void {
  const file = files.find(({ path }) => path === index?.file);
  const bytes = file && store.content(file.content);
  if (!index || !file || !bytes || !isText(bytes)) return;
  const paths = files.map(({ path }) => path);
  const { loaded, dangling, missing } = indexWarnings(index, bytes.toString(), paths);
  const shown = quoted(displayName(name, index.file));
  if (loaded) {
    to.add(file.path, { text: `longer than ${title} loads: ${loaded.lines} of ${loaded.of} lines` });
    to.advise(
      `${shown} is longer than ${title} loads, which sees the first ${loaded.lines} of its ${loaded.of} lines`,
      'move details to notes of their own',
    );
  }
  noteDangling(dangling, file.path, shown, to);
  for (const path of missing) to.add(path, { text: `not in ${index.file}` });
  if (missing.length > 0) {
    const names = listed(missing.map((path) => quoted(displayName(name, path))));
    to.advise(`${shown} does not name ${names}, so ${title} may not look there`, 'add a line with a link for each');
  }
}

/** Notes that are not of this project, by what they say. */
function noteOrigins(
  store: Store,
  tree: TreeRow,
  harness: MemoryHarness,
  files: readonly MemoryFile[],
  to: Collected,
): void {
  if (!harness.origin) return;
  const owner = { harness, project: tree.project, machine: store.machine };
  for (const { path, content } of files) {
    const fault = originFault(store, owner, path, store.content(content));
    if (fault === undefined) continue;
    to.add(path, { text: 'not by its words a note of this project' });
    to.advise(`${quoted(displayName(tree.harness, path))} ${fault}`);
  }
}

function noteDangling(dangling: IndexWarnings['dangling'], path: string, shown: string, to: Collected): void {
  const several = (count: number): string => `${count} links to files that are not there`;
  for (const { line, target } of dangling)
    to.add(path, { text: `line ${line} links to ${quoted(target)}, which is not there`, several });
  if (dangling.length === 0) return;
  const names = listed(dangling.map(({ line, target }) => `${quoted(target)} (line ${line})`));
  const [it, them] =
    dangling.length === 1 ? ['is', 'the line, or restore the file'] : ['are', 'the lines, or restore the files'];
  to.advise(
    `${shown} links to ${names}, which ${it} not there`,
    `remove ${them} with ${memoryCommand(to.given, 'restore')}`,
  );
}

function noteSecrets(tree: TreeRow, files: readonly MemoryFile[], secrets: Secrets, to: Collected): void {
  const several = (count: number): string => `may hold ${count} secrets`;
  const flagged: string[] = [];
  for (const { path } of files) {
    const all = secrets.get(path) ?? [];
    const found = all.filter(({ rule }) => rule !== NOT_SCANNED);
    if (found.length < all.length) to.add(path, { text: 'could not be searched for secrets' });
    for (const { rule, line } of found) to.add(path, { text: `may hold a secret: line ${line} (${rule})`, several });
    const [first] = found;
    if (first) flagged.push(`${quoted(displayName(tree.harness, path))} (line ${first.line}, ${first.rule})`);
  }
  if (flagged.length === 0) return;
  to.advise(
    `${listed(flagged)} may hold a secret`,
    `take it out, and ${memoryCommand(to.given, 'purge')} the versions that have it`,
  );
}

/** The first of some names, and how many more there are. */
function listed(names: readonly string[]): string {
  const more = names.length - NAMED;
  if (more > 0) return `${names.slice(0, NAMED).join(', ')} and ${more} more`;
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
