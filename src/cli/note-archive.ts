import type { MemoryHarness } from '../harness/adapter.js';
import { findHarness } from '../harness/registry.js';
import { MemoryFiles } from '../store/memory-files.js';
import type { Project } from '../store/projects.js';
import type { Store } from '../store/store.js';
import { displayName } from './context.js';
import type { NamedFile } from './named-file.js';

/**
 * Puts what a file holds into the archive of its harness, under its name with a timestamp. For use within `store.write`.
 * @returns the name of the copy for people; undefined for a harness that has no archive
 */
export function archiveCopy(store: Store, project: Project, file: NamedFile, session: number): string | undefined {
  const archive = archiveOf(file);
  if (!archive || !file.head) return undefined;
  const memory = new MemoryFiles(store, store.treeOf(project.id, archive.name));
  const path = freeName(memory, file.path, store.now);
  memory.put(path, store.content(file.head.content), { kind: 'saved', session });
  return displayName(archive.name, path);
}

/**
 * Takes the newest copy of a content that `archiveCopy` made of a file out of the archive. For use within `store.write`.
 * @returns its name for people; undefined when there is none
 */
export function takeFromArchive(
  store: Store,
  project: Project,
  file: NamedFile,
  content: number,
  session: number,
): string | undefined {
  const archive = archiveOf(file);
  const tree = archive && store.trees.find(project.id, archive.name);
  if (!archive || !tree) return undefined;
  const memory = new MemoryFiles(store, tree);
  const copies = memory.list().filter((one) => one.content === content && isCopyOf(one.path, file.path));
  const newest = copies.at(-1);
  if (!newest) return undefined;
  memory.remove(newest, session);
  return displayName(archive.name, newest.path);
}

function archiveOf({ tree }: NamedFile): MemoryHarness | undefined {
  const harness = findHarness(tree.harness);
  return harness?.keepsMemory ? harness.archive : undefined;
}

/** Name and extension, in the last segment of a path. */
function parts(path: string): readonly [name: string, extension: string] {
  const dot = path.lastIndexOf('.');
  return dot > path.lastIndexOf('/') + 1 ? [path.slice(0, dot), path.slice(dot)] : [path, ''];
}

/** `memory-20240131T235959Z.md`, in UTC; a second one of the same second gets a number. */
function freeName(memory: MemoryFiles, path: string, now: number): string {
  const [name, extension] = parts(path);
  const stamp = new Date(now / 1000).toISOString().replace(/[-:]|\.\d+/g, '');
  for (let number = 1; ; number++) {
    const free = `${name}-${stamp}${number === 1 ? '' : `-${number}`}${extension}`;
    if (!memory.find(free)) return free;
  }
}

function isCopyOf(copy: string, path: string): boolean {
  const [name, extension] = parts(path);
  const between = copy.slice(name.length, copy.length - extension.length);
  return copy.startsWith(name) && copy.endsWith(extension) && /^-\d{8}T\d{6}Z(?:-\d+)?$/.test(between);
}
