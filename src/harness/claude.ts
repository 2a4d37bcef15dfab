import { isAbsolute, join } from 'node:path';
import { MendError } from '../errors.js';
import type { HarnessEnvironment, MemoryHarness } from './adapter.js';
import { executableName, executablePath } from './executable.js';
import { isLeftBehind } from './left-behind.js';

/** UTF-16 units of a slug before the hash takes over. */
const SLUG_UNITS = 200;

const NATIVE_INSTALL = /\/claude\/versions\/\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/;
/** Held while Claude Code tidies its notes up; its modification time is the hour of the last time. */
const OWN_LOCK = /(?:^|\/)\.consolidate-lock(?:\/|$)/;

/** `<name>.tmp.<pid>.<12 hex digits>`, which is renamed over `<name>`. */
const TEMPORARY = /^(.*[^/])\.tmp\.\d+\.[0-9a-f]{12}$/;

/** A Markdown file that is not hidden and lies in no hidden folder. */
const NOTE = /^(?:[^./][^/]*\/)*[^./][^/]*\.md$/;

/**
 * Claude Code. Its temporary files (`<name>.tmp.<pid>.<hex>`, `.MEMORY.md.backfill-<pid>-<hex>.tmp`) are among
 * the names every harness treats as local.
 */
export const claude: MemoryHarness = {
  name: 'claude',
  title: 'Claude Code',
  keepsMemory: true,
  memoryFolder: ({ root, env }) => join(configFolder(env), 'projects', claudeSlug(root), 'memory'),
  // Absolute, so that it means the same to a program that is started from another folder.
  launch: {
    programs: ['claude'],
    environment: ({ env }) => (env['CLAUDE_CONFIG_DIR'] ? { CLAUDE_CONFIG_DIR: configFolder(env) } : {}),
  },
  isLocal: (path) => isLeftBehind(path) || OWN_LOCK.test(path),
  temporaryFor: (path) => TEMPORARY.exec(path)?.[1],
  memoryInCopy,
  // Older versions wrote the session at the top level.
  maintainedKeys: ['metadata.node_type', 'metadata.originSessionId', 'metadata.modified', 'originSessionId'],
  // Folders may have a MEMORY.md of their own. The other notes it reads when the index makes it.
  index: {
    file: 'MEMORY.md',
    lines: 200,
    characters: 25_000,
    isNote: (path) => NOTE.test(path) && !/(?:^|\/)MEMORY\.md$/.test(path),
  },
  matchesProgram: (executable) => {
    const name = executableName(executable);
    // The npm package installs its Linux program as `claude.exe`.
    return name === 'claude' || name === 'claude.exe' || NATIVE_INSTALL.test(executablePath(executable));
  },
};

/** What lies beside the memory in the folder of a project: transcripts, and folders of sessions. */
const OF_PROJECT = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$|\.jsonl$|^sessions-index\.json$/;
/** What lies in a home or in the configuration folder of an agent, and in no memory folder. */
const NOT_MEMORY = new Set([
  ...['.claude', '.claude.json', '.credentials.json', 'settings.json', 'settings.local.json', 'projects', 'todos'],
  ...['shell-snapshots', 'statsig', 'file-history', 'session-env', 'plugins', 'ide', 'debug'],
  ...['.codex', 'auth.json', 'config.toml', 'sessions', 'archived_sessions', '.ssh', '.bashrc', '.profile'],
]);

/**
 * A copy can be of the memory folder, of a project's folder, of the folder of all projects, of the configuration folder, or
 * of a home. Only what holds nothing of another kind is taken for a memory folder itself.
 */
function memoryInCopy(root: string, has: (path: string) => boolean, names: readonly string[]): string | undefined {
  const ofProject = `${claudeSlug(root)}/memory`;
  const within = [ofProject, `projects/${ofProject}`, `.claude/projects/${ofProject}`].find(has);
  if (within !== undefined) return within;
  const hasIndex = names.includes('MEMORY.md');
  if (!hasIndex && has('memory') && names.every((name) => name === 'memory' || OF_PROJECT.test(name))) return 'memory';
  const other = names.some(
    (name) =>
      OF_PROJECT.test(name) ||
      NOT_MEMORY.has(name) ||
      // A folder of a project, a home among others, a repository.
      (name.startsWith('-') && has(name)) ||
      ['.claude', '.codex', '.git'].some((hidden) => has(`${name}/${hidden}`)),
  );
  return other || (!hasIndex && names.includes('.git')) ? undefined : '.';
}

/**
 * The folder name Claude Code derives from a path: every UTF-16 unit outside `[A-Za-z0-9]` becomes `-`; of a longer
 * one the first 200 units stay, with the hash of the whole path.
 */
export function claudeSlug(path: string): string {
  const slug = path.replace(/[^A-Za-z0-9]/g, '-');
  return slug.length <= SLUG_UNITS ? slug : `${slug.slice(0, SLUG_UNITS)}-${pathHash(path)}`;
}

/** Java's `String.hashCode`, its absolute value in base 36. The least one, -2^31, has an absolute value here. */
function pathHash(path: string): string {
  let hash = 0;
  for (let unit = 0; unit < path.length; unit++) hash = (Math.imul(hash, 31) + path.charCodeAt(unit)) | 0;
  return Math.abs(hash).toString(36);
}

/**
 * `${CLAUDE_CONFIG_DIR:-~/.claude}`, read from the folder the user stands in when it is relative. Claude Code uses
 * the NFC form of this path, and so does mend.
 */
function configFolder(env: HarnessEnvironment): string {
  const configured = env['CLAUDE_CONFIG_DIR'] ?? '';
  if (isAbsolute(configured)) return configured.normalize('NFC');
  if (configured !== '') {
    const here = env['PWD'] ?? '';
    if (isAbsolute(here)) return join(here, configured).normalize('NFC');
    throw new MendError('CLAUDE_CONFIG_DIR is a relative path: set it to an absolute one');
  }
  const home = env['HOME'] ?? '';
  if (isAbsolute(home)) return join(home, '.claude').normalize('NFC');
  throw new MendError('HOME is not set to an absolute path: set it to your home folder');
}
