import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ProjectPlace } from '../../import/credit/manifest.js';
import { aliasesOf } from '../../project/aliases.js';
import type { Repository } from '../../project/repository.js';
import { EVERYWHERE, type ProjectAlias } from '../../store/projects.js';
import type { Store } from '../../store/store.js';
import { counted } from '../output.js';
import { prepareOwnFolder, systemPath } from '../people/system-folder.js';
import { readSystemFile, replaceFile } from './system-files.js';

/** In the system's folder. */
const FOLDER = 'uncredited';

/** How much memory of a project nobody was credited with, for people's listings: counts, and nothing else. */
interface Note {
  readonly version: 1;
  /** Number of files by worktree and harness, which are told by hashes. */
  readonly files: Readonly<Record<string, number>>;
}

/** The line that a listing has for memory that nobody was credited with (spec §10.3). */
export function uncreditedLine(files: number): string {
  return `memory from before per-person homes, not credited · ${counted(files, 'file')}`;
}

/**
 * Leaves a note of how many files were not credited, where the listing of anybody with that project finds it.
 * @param key of the worktree and harness
 */
export function noteUncredited(project: ProjectPlace, key: string, files: number): void {
  // Who knows the project finds its note; nobody can list the projects that there are.
  const folder = prepareOwnFolder(FOLDER, 0o711);
  for (const name of namesOf(project)) {
    const path = join(folder, name);
    const { [key]: _, ...others } = readNote(path);
    const all = files > 0 ? { ...others, [key]: files } : others;
    if (Object.keys(all).length === 0) rmSync(path, { force: true });
    else replaceFile(path, `${JSON.stringify({ version: 1, files: all } satisfies Note)}\n`, 0o644);
  }
}

/** How many files of a project nobody was credited with, as far as an administrator left a note. */
export function uncreditedFiles(store: Store, project: number): number {
  return filesNoted(store.projects.aliases(project), store.machine);
}

/** The same for a repository that is no project yet. */
export function uncreditedFilesOf(repository: Repository): number {
  return filesNoted(aliasesOf(repository, HERE), HERE);
}

/** Stands for this machine where there is no store that has a number for it. */
const HERE = -1;

function filesNoted(aliases: readonly ProjectAlias[], here: number): number {
  const names = aliases.flatMap(({ kind, machine, value }) => {
    if (machine !== EVERYWHERE && machine !== here) return [];
    return [noteName(kind, value)];
  });
  const files = new Map(names.flatMap((name) => Object.entries(readNote(systemPath(FOLDER, name)))));
  return [...files.values()].reduce((sum, count) => sum + count, 0);
}

function namesOf({ remote, folder }: ProjectPlace): string[] {
  return [
    ...(remote ? [noteName('remote', remote.value)] : []),
    ...(folder === undefined ? [] : [noteName('path', folder)]),
  ];
}

function noteName(kind: 'remote' | 'path', value: string): string {
  return `${hash('sha256', `${kind} ${value}`).slice(0, 32)}.json`;
}

/** Empty when there is no note, or none that can be read. */
function readNote(path: string): Record<string, number> {
  try {
    const note = JSON.parse(readSystemFile(path) ?? 'null') as Partial<Note> | null;
    if (note?.version !== 1 || typeof note.files !== 'object' || note.files === null) return {};
    return Object.fromEntries(Object.entries(note.files).filter(([, count]) => Number.isInteger(count) && count > 0));
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
