import { existsSync } from 'node:fs';
import { MendError } from '../../errors.js';
import { normalizeRemoteUrl, type RemoteIdentity } from '../../project/remote-url.js';
import { discoverRepository } from '../../project/repository.js';
import { findProject } from '../../project/resolve.js';
import { EVERYWHERE } from '../../store/projects.js';
import type { Store } from '../../store/store.js';
import type { ConversationMeta } from './conversation-meta.js';

/**
 * Tells which conversations belong to a project: those whose recorded Git origin is its, and of those that have none
 * recorded the ones that were held in a folder of it (spec §9).
 */
export class ConversationOwner {
  readonly #store: Store;
  readonly #project: number;
  /** What was found out of folders. */
  readonly #folders = new Map<string, boolean>();

  constructor(store: Store, project: number) {
    this.#store = store;
    this.#project = project;
  }

  async owns({ cwd, git }: Pick<ConversationMeta, 'cwd' | 'git'>): Promise<boolean> {
    const origin = git?.repository_url === undefined ? null : normalizeRemoteUrl(git.repository_url);
    if (origin !== null) return this.#ownsOrigin(origin, cwd);
    const known = this.#folders.get(cwd) ?? (await this.#ownsFolder(cwd));
    this.#folders.set(cwd, known);
    return known;
  }

  /** A path that a person gave to a project overrules the remote that it has (spec §2.4). */
  #ownsOrigin({ scope, value }: RemoteIdentity, cwd: string): boolean {
    const { projects, machine } = this.#store;
    const settled = projects.settledPaths(machine, value).find(({ path }) => isWithin(cwd, path));
    if (settled) return settled.project.id === this.#project;
    const where = scope === 'everywhere' ? EVERYWHERE : machine;
    return projects.find({ kind: 'remote', machine: where, value })?.id === this.#project;
  }

  async #ownsFolder(cwd: string): Promise<boolean> {
    const { projects, machine } = this.#store;
    const paths = projects
      .list(machine)
      .flatMap(({ id, paths }) => paths.map((path) => ({ id, path })))
      .filter(({ path }) => isWithin(cwd, path))
      .sort((one, other) => other.path.length - one.path.length);
    if (!existsSync(cwd)) return paths[0]?.id === this.#project;
    try {
      // It may be a linked work tree, or a link.
      const repository = await discoverRepository(cwd);
      return findProject(projects, repository, machine)?.id === this.#project;
    } catch (error) {
      if (!(error instanceof MendError)) throw error;
      return paths[0]?.id === this.#project;
    }
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
}
