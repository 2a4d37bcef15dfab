import { harnesses } from '../../harness/registry.js';
import { discoverRepository } from '../../project/repository.js';
import { findProject } from '../../project/resolve.js';
import { MemoryFiles } from '../../store/memory-files.js';
import type { Project } from '../../store/projects.js';
import type { Store } from '../../store/store.js';
import { displayName, parseFileName } from '../context.js';
import { withCopyOfStore } from '../copy-of-store.js';
import { localTime, sized } from '../output.js';
import { refuseShared } from '../refuse-shared.js';
import type { Candidate } from './candidates.js';
import type { Position } from './position.js';

/** What a shell completes better than mend: paths of the file system. */
export type PathKind = 'folders' | 'files';

export function isPathKind(found: readonly Candidate[] | PathKind): found is PathKind {
  return typeof found === 'string';
}

type Source = PathKind | ((position: Position) => readonly Candidate[] | Promise<readonly Candidate[]>);

/** Where the values of an argument or option come from, by its name in the help. What is not named here has none. */
const SOURCES: Readonly<Record<string, Source>> = {
  checkout: 'folders',
  folder: 'folders',
  target: 'files',
  manifest: 'files',
  project: () => fromStore(projects),
  harness: () => harnesses.filter((one) => one.keepsMemory).map(({ name, title }) => ({ text: name, note: title })),
  session: () => fromStore(sessions),
  file: (position) => fromStore((store) => files(store, position)),
  version: (position) => fromStore((store) => versions(store, position)),
};

/** Names that stand for the same; with the group of commands before it where only there. */
const SAME: Readonly<Record<string, string>> = {
  'mend id': 'session',
  from: 'version',
  to: 'version',
  number: 'version',
  'store file': 'target',
  'project name': 'project',
  'project old': 'project',
};

/** The values that an argument or option may have here. */
export async function valuesOf(name: string, position: Position): Promise<readonly Candidate[] | PathKind> {
  const key = SAME[`${position.command.parent?.name()} ${name}`] ?? SAME[name] ?? name;
  const source = Object.hasOwn(SOURCES, key) ? SOURCES[key] : undefined;
  if (source === undefined || typeof source === 'string') return source ?? [];
  return source(position);
}

async function fromStore(
  work: (store: Store) => readonly Candidate[] | Promise<readonly Candidate[]>,
): Promise<readonly Candidate[]> {
  let found: readonly Candidate[] = [];
  await withCopyOfStore(false, async (store) => {
    found = await work(store);
  });
  return found;
}

function projects(store: Store): Candidate[] {
  return store.projects.list(store.machine).map(({ name, paths, remotes }) => ({
    text: name,
    note: paths[0] ?? remotes[0] ?? '',
  }));
}

function sessions({ sessions: { named } }: Store): Candidate[] {
  const open = named.list().filter(({ ended }) => ended === null);
  return open.map(({ name, harness, last }) => ({ text: name, note: `${harness} ${localTime(last)}` }));
}

async function projectAt(store: Store, { given }: Position): Promise<Project | undefined> {
  const name = given.get('--project');
  if (name !== undefined) return store.projects.byName(name);
  return findProject(store.projects, await discoverRepository(process.cwd()), store.machine);
}

/** Commands that also take a file that was removed. */
const OF_HISTORY = new Set(['show', 'log', 'diff', 'restore', 'purge']);

async function files(store: Store, position: Position): Promise<Candidate[]> {
  refuseShared();
  const project = await projectAt(store, position);
  if (!project) return [];
  return store.trees.ofProject(project.id).flatMap((tree) => {
    const heads = new MemoryFiles(store, tree).list().map(({ path, row }) => ({ path, note: sized(row.size) }));
    const there = new Set(heads.map(({ path }) => path));
    const removed = OF_HISTORY.has(position.command.name())
      ? [...store.versions.counts(tree.id).keys()].filter((path) => !there.has(path))
      : [];
    return [...heads, ...removed.map((path) => ({ path, note: 'removed' }))]
      .map(({ path, note }) => ({ text: displayName(tree.harness, path), note }))
      .filter(({ text }) => !position.operands.includes(text));
  });
}

async function versions(store: Store, position: Position): Promise<Candidate[]> {
  refuseShared();
  const [file] = position.operands;
  const project = file === undefined ? undefined : await projectAt(store, position);
  if (file === undefined || !project) return [];
  const { harness, path } = parseFileName(file);
  const tree = store.trees.find(project.id, harness);
  if (!tree) return [];
  return store.versions
    .of(tree.id, path)
    .map(({ number, kind, at }) => ({ text: String(number), note: `${kind} ${localTime(at)}` }));
}
