import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isSystemError, MendError } from '../errors.js';
import { canonicalFolder } from './folder.js';
import { type Environment, git } from './git.js';
import { printable } from './printable.js';
import { localRemotePath, normalizeRemoteUrl, type RemoteIdentity } from './remote-url.js';
import { shellWord } from './shell-word.js';

/** What a folder belongs to: a Git repository, or nothing but itself. */
export interface Repository {
  readonly kind: 'git' | 'folder';
  /**
   * Canonical root: of the main work tree for a linked one, the repository itself where it is bare, the folder
   * outside Git. A harness that keys its memory to the repository keys it to this path.
   */
  readonly root: string;
  /** Every path that stands for the repository, `root` first; a second one where `.git` points elsewhere. */
  readonly paths: readonly [string, ...string[]];
  /** Remote `origin`, or null when there is none or its URL identifies nothing. */
  readonly origin: RemoteIdentity | null;
}

interface Layout {
  readonly root: string;
  readonly paths: readonly [string, ...string[]];
}

/**
 * Discovers the repository of a folder. Throws `MendError` when the folder is missing, is no folder or cannot
 * be read, and when Git finds a repository but refuses or fails to read it; nothing is guessed then.
 */
export async function discoverRepository(folder: string, env: Environment = process.env): Promise<Repository> {
  const start = canonicalFolder(folder);
  const layout = await discoverLayout(start, env);
  if (layout === null) return { kind: 'folder', root: start, paths: [start], origin: null };
  return { kind: 'git', ...layout, origin: await readOrigin(start, layout.root, env) };
}

async function discoverLayout(start: string, env: Environment): Promise<Layout | null> {
  const found = await git(start, ['rev-parse', '--absolute-git-dir'], env);
  if (found.status !== 0) {
    if (found.stderr.includes('not a git repository (or any')) return null;
    throw refusal(start, found.stderr);
  }
  const gitDir = realpathSync(line(found.stdout));
  const common = realpathSync(resolve(start, line(await answer(start, ['rev-parse', '--git-common-dir'], env))));
  const inCommon = basename(common) === '.git' ? dirname(common) : common;
  if (gitDir !== common) return { root: inCommon, paths: [inCommon] };

  const top = await git(start, ['rev-parse', '--show-toplevel'], env);
  const root = top.status === 0 ? realpathSync(line(top.stdout)) : (holderOf(common, start) ?? inCommon);
  // Linked work trees of a repository whose folder is not `.git` map to that folder; a submodule has none to map.
  const second = inCommon !== root && !common.includes('/modules/');
  return { root, paths: second ? [root, inCommon] : [root] };
}

/** The folder at or above `start` whose `.git` is the repository found, or a file that points at it. */
function holderOf(common: string, start: string): string | null {
  for (let folder = start; ; folder = dirname(folder)) {
    if (gitFolderOf(folder) === common) return folder;
    if (folder === '/') return null;
  }
}

function gitFolderOf(folder: string): string | null {
  const entry = join(folder, '.git');
  try {
    if (statSync(entry).isDirectory()) return realpathSync(entry);
    const target = /^gitdir: (.+?)\n*$/.exec(readFileSync(entry, 'utf8'))?.[1];
    return target === undefined ? null : realpathSync(resolve(folder, target));
  } catch (error) {
    if (isSystemError(error)) return null;
    throw error;
  }
}

async function readOrigin(start: string, root: string, env: Environment): Promise<RemoteIdentity | null> {
  const configured = await git(start, ['config', '--null', '--get-all', 'remote.origin.url'], env);
  const [written = ''] = configured.stdout.split('\0');
  if (configured.status !== 0 || written === '') return null;
  // A full URL is the same for everybody. A short form can be an abbreviation of this user's `insteadOf`.
  const full = /^[^/:]+:\/\/|@/.test(written) ? normalizeRemoteUrl(written) : null;
  if (full !== null) return full;
  const expanded = await git(start, ['remote', 'get-url', 'origin'], env);
  const url = expanded.status === 0 ? line(expanded.stdout) : written;
  const path = localRemotePath(url);
  if (path === null) return normalizeRemoteUrl(url);
  return { scope: 'machine', value: await localRoot(resolve(root, path), env) };
}

/** The canonical root of a remote that is a folder here; the path as written when it is not there to look at. */
async function localRoot(path: string, env: Environment): Promise<string> {
  const folder = [path, `${path}.git`].find((candidate) => existsSync(candidate));
  if (folder === undefined) return path.replace(/\/\.git$/, '');
  const real = realpathSync(folder);
  try {
    return (await discoverLayout(canonicalFolder(real), env))?.root ?? real;
  } catch (error) {
    if (error instanceof MendError) return real;
    throw error;
  }
}

async function answer(folder: string, args: readonly string[], env: Environment): Promise<string> {
  const { status, stdout, stderr } = await git(folder, args, env);
  if (status !== 0) throw refusal(folder, stderr);
  return stdout;
}

function refusal(folder: string, stderr: string): MendError {
  const owned = /detected dubious ownership in repository at '(.*)'/.exec(stderr)?.[1];
  if (owned !== undefined) {
    return new MendError(
      `the repository at "${owned}" belongs to another user and Git does not trust it: ` +
        `if you do, run: git config --global --add safe.directory ${shellWord(owned)}`,
    );
  }
  const reason = printable(/^(?:fatal|error): (.*)$/m.exec(stderr)?.[1] ?? 'Git gave no reason');
  return new MendError(`Git cannot read the repository of "${printable(folder)}": repair it and try again (${reason})`);
}

function line(output: string): string {
  return output.replace(/\n$/, '');
}
