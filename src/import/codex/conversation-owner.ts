import { existsSync } from 'node:fs';
import { MendError } from '../../errors.js';
import { normalizeRemoteUrl, type RemoteIdentity } from '../../project/remote-url.js';
import { discoverRepository, type Repository } from '../../project/repository.js';
import { findProject } from '../../project/resolve.js';
import { EVERYWHERE } from '../../store/projects.js';
import type { Store } from '../../store/store.js';
import type { ConversationMeta } from './conversation-meta.js';

/** What is compared of a conversation. */
type Held = Pick<ConversationMeta, 'cwd' | 'git'>;

/**
 * Tells which conversations belong to a project: those whose recorded Git origin is its, and of those that have none
 * recorded the ones that were held in a folder of it (spec §9).
 */
export interface ConversationOwner {
  owns(conversation: Held): Promise<boolean>;
}

/**
 * By what the store knows of a project. A path that a person gave to a project overrules its remote (spec §2.4).
 * @param machine row id of that on which they were held; of another than this one no folder is looked at
 */
export function ownerByProject(store: Store, project: number, machine: number = store.machine): ConversationOwner {
  const { projects } = store;
  return owner(
    ({ scope, value }, cwd) => {
      const settled = projects.settledPaths(machine, value).find(({ path }) => isWithin(cwd, path));
      if (settled) return settled.project.id === project;
      const where = scope === 'everywhere' ? EVERYWHERE : machine;
      return projects.find({ kind: 'remote', machine: where, value })?.id === project;
    },
    (repository) => findProject(projects, repository, machine)?.id === project,
    (cwd) => {
      const nearest = (where: number): number | undefined =>
        projects
          .list(where)
          .flatMap(({ id, paths }) => paths.map((path) => ({ id, path })))
          .filter(({ path }) => isWithin(cwd, path))
          .sort((one, other) => other.path.length - one.path.length)[0]?.id;
      // Where nothing is known of a machine, its folders are taken for those of the same path here.
      return (nearest(machine) ?? nearest(store.machine)) === project;
    },
    machine === store.machine ? existsSync : () => false,
  );
}

/** By a repository that has no project yet. */
export function ownerByRepository({ root, paths, origin }: Repository): ConversationOwner {
  return owner(
    ({ scope, value }) => origin?.scope === scope && origin.value === value,
    (repository) => repository.root === root,
    (cwd) => paths.some((path) => isWithin(cwd, path)),
  );
}

/**
 * @param hasOrigin tells whether it is the owner's
 * @param isOwn tells whether the repository of the folder is, as it is now
 * @param hasFolder tells so of a folder that is not there any more
 * @param isThere whether a folder is there, on the machine of the conversation
 */
function owner(
  hasOrigin: (origin: RemoteIdentity, cwd: string) => boolean,
  isOwn: (repository: Repository) => boolean,
  hasFolder: (cwd: string) => boolean,
  isThere: (cwd: string) => boolean = existsSync,
): ConversationOwner {
  const folders = new Map<string, boolean>();
  const look = async (cwd: string): Promise<boolean> => {
    if (!isThere(cwd)) return hasFolder(cwd);
    try {
      // It may be a linked work tree, or a link.
      return isOwn(await discoverRepository(cwd));
    } catch (error) {
      if (!(error instanceof MendError)) throw error;
      return hasFolder(cwd);
    }
  };
  return {
    async owns({ cwd, git }) {
      const origin = git?.repository_url === undefined ? null : normalizeRemoteUrl(git.repository_url);
      if (origin !== null) return hasOrigin(origin, cwd);
      const known = folders.get(cwd) ?? (await look(cwd));
      folders.set(cwd, known);
      return known;
    },
  };
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
}
