import { isAbsolute, join } from 'node:path';
import { MendError } from '../errors.js';
import type { HarnessEnvironment, HarnessPlace, MemoryHarness, NoteOrigin } from './adapter.js';
import { isLeftBehind } from './left-behind.js';
import { projectSlug, slugsOf } from './project-slug.js';

/** The one note of a project. */
const NOTE = 'memory.md';
/** A line that says which checkout a note is of. */
const PROJECT_LINE = /^Project:[ \t]*(.*)$/;

/** What both folders of the convention have in common. */
const common = {
  keepsMemory: true,
  // Any agent may follow the convention: it has no program of its own.
  matchesProgram: () => false,
  launch: { programs: [] },
  signOfUse: (env: HarnessEnvironment) => join(memoryRoot(env), 'projects'),
  folderNames: ({ root, env }: HarnessPlace) => ({
    pattern: slugsOf(root),
    within: ['projects', 'archive'].map((part) => join(memoryRoot(env), part)),
  }),
  isLocal: isLeftBehind,
  temporaryFor: () => undefined,
  maintainedKeys: [],
  ownerOnly: true,
} as const;

/** The archive of project-memory: notes that were forgotten, each with a timestamp in its name. */
const projectMemoryArchive: MemoryHarness = {
  ...common,
  name: 'project-memory-archive',
  title: 'the archive of project-memory',
  memoryFolder: folderIn('archive'),
  memoryInCopy: (root, has, names) => inCopy('archive', root, has) ?? (names.every(isNote) ? '.' : undefined),
  origin: {
    label: 'Project:',
    // The folder says whose an archived note is; one that names another is no note of it all the same.
    pathsIn: (path, text) => (isNote(path) ? nonEmpty(projectLines(text)) : undefined),
  },
};

/**
 * The project-memory convention: one note for each project in `~/.codex/memory/projects`, kept by whatever agent follows it.
 * It is not Codex's own memory, which lies in folders named `memories`.
 */
export const projectMemory: MemoryHarness = {
  ...common,
  name: 'project-memory',
  title: 'project-memory',
  memoryFolder: folderIn('projects'),
  memoryInCopy: (root, has, names) =>
    inCopy('projects', root, has) ?? (names.includes(NOTE) || names.length === 0 ? '.' : undefined),
  archive: projectMemoryArchive,
  origin: {
    label: 'Project:',
    pathsIn: (path, text) => (path === NOTE ? projectLines(text) : undefined),
    withPath: (path, text, root) => (path === NOTE ? withLine(text, root) : undefined),
  } satisfies NoteOrigin,
};

function folderIn(part: 'projects' | 'archive') {
  return ({ root, env }: HarnessPlace): string => join(memoryRoot(env), part, projectSlug(root));
}

/** `~/.codex/memory`, wherever Codex itself has its home. */
function memoryRoot(env: HarnessEnvironment): string {
  const home = env['HOME'] ?? '';
  if (isAbsolute(home)) return join(home, '.codex/memory');
  throw new MendError('HOME is not set to an absolute path: set it to your home folder');
}

/** A copy can be of the folder of all projects, of the convention's, of Codex's, or of a home. */
function inCopy(part: string, root: string, has: (path: string) => boolean): string | undefined {
  const slug = projectSlug(root);
  return [slug, ...['', 'memory/', '.codex/memory/'].map((above) => `${above}${part}/${slug}`)].find(has);
}

function isNote(path: string): boolean {
  return /^[^./][^/]*\.md$/.test(path);
}

function nonEmpty(paths: readonly string[]): readonly string[] | undefined {
  return paths.length > 0 ? paths : undefined;
}

/** The paths that a note names above its first section. */
function projectLines(text: string): string[] {
  const paths = headOf(text.split(/\r?\n/)).map((line) => PROJECT_LINE.exec(line)?.[1] ?? '');
  return paths.filter((path) => path.trim() !== '');
}

/** The lines above the first section. */
function headOf(lines: readonly string[]): readonly string[] {
  const section = lines.findIndex((line) => line.startsWith('##'));
  return section < 0 ? lines : lines.slice(0, section);
}

/** A note with a line for one more checkout, behind the last that it has. */
function withLine(text: string, root: string): string | undefined {
  const lines = text.split('\n');
  const last = headOf(lines).findLastIndex((line) => PROJECT_LINE.test(line.replace(/\r$/, '')));
  if (last < 0) return undefined;
  const end = lines[last]?.endsWith('\r') ? '\r' : '';
  // The last line may have no end: then neither has the new one.
  return [...lines.slice(0, last + 1), `Project: ${root}${end}`, ...lines.slice(last + 1)].join('\n');
}
