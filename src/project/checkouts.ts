import { MendError } from '../errors.js';
import type { Project, ProjectTable } from '../store/projects.js';
import type { Environment } from './git.js';
import { discoverRepository, type Repository } from './repository.js';
import { findProject } from './resolve.js';

/** The checkouts of a project on a machine, as they are now. */
export interface Checkouts {
  readonly repositories: readonly Repository[];
  /** Paths that the project is known by, and where no checkout of it is, each with why. */
  readonly left: readonly { readonly path: string; readonly reason: string }[];
}

/**
 * Looks at every path that a project is known by on a machine (a row id): a checkout may have been moved away since, or
 * have made room for that of another project.
 */
export async function checkoutsOf(
  table: ProjectTable,
  project: Project,
  machine: number,
  env: Environment = process.env,
): Promise<Checkouts> {
  const repositories = new Map<string, Repository>();
  const left: { path: string; reason: string }[] = [];
  const paths = table.aliases(project.id).filter((alias) => alias.kind === 'path' && alias.machine === machine);
  for (const { value: path } of paths) {
    try {
      const repository = await discoverRepository(path, env);
      const owner = findProject(table, repository, machine);
      if (owner?.id === project.id) repositories.set(repository.root, repository);
      else left.push({ path, reason: owner ? `it belongs to project "${owner.name}"` : 'it belongs to no project' });
    } catch (error) {
      if (!(error instanceof MendError)) throw error;
      left.push({ path, reason: error.message });
    }
  }
  return { repositories: [...repositories.values()], left };
}
