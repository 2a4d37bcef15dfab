import { existsSync } from 'node:fs';
import { MendError } from '../errors.js';
import { EVERYWHERE, type Project, type ProjectAlias, type ProjectTable } from '../store/projects.js';
import { aliasesOf, originAlias, projectOfAlias } from './aliases.js';
import { disagreement, perhapsMoved } from './disagreement.js';
import { nameChoices } from './name.js';
import { printable } from './printable.js';
import type { Repository } from './repository.js';

/** What resolving needs beside the repository. */
export interface ResolveContext {
  /** Row id of this machine (`ensureMachine`). */
  readonly machine: number;
  /** Microseconds since the epoch; `created` of a project that is new. */
  readonly now: number;
}

/**
 * The project of a repository: the one that its remote or one of its paths is known for, else a new one. Both
 * are recorded, so that a moved checkout and another machine find it. Where remote and path speak for different
 * projects, or the path is known for a project of another remote, nothing is changed and `MendError` is thrown,
 * unless a person has settled it (`settle.ts`).
 */
export function resolveProject(table: ProjectTable, repository: Repository, context: ResolveContext): Project {
  const aliases = aliasesOf(repository, context.machine);
  const found = agreed(table, repository, aliases, context.machine);
  if (found !== undefined && aliases.every((alias) => table.find(alias) !== undefined)) return found;
  return table.immediate(() => {
    // All that there is to record was recorded when it was settled.
    const settled = settledProject(table, repository, context.machine);
    if (settled) return settled;
    const project =
      agreed(table, repository, aliases, context.machine) ?? table.create(nameChoices(repository), context.now);
    for (const alias of aliases) table.addAlias(project.id, alias);
    return project;
  });
}

/**
 * The project of a repository when it has one; nothing is written. Throws `MendError` where remote and path speak for
 * different projects.
 */
export function findProject(table: ProjectTable, repository: Repository, machine: number): Project | undefined {
  return agreed(table, repository, aliasesOf(repository, machine), machine);
}

/** The project with a name (`--project`). Throws `MendError` when there is none. */
export function projectByName(table: ProjectTable, name: string): Project {
  const project = table.byName(name);
  if (project !== undefined) return project;
  throw noSuchProject(name);
}

/** The error for a name that no project has. */
export function noSuchProject(name: string): MendError {
  return new MendError(`there is no project "${printable(name)}": "mend project list" shows the names`);
}

/** The one project that everything known of the repository speaks for; undefined when nothing is known. */
function agreed(
  table: ProjectTable,
  repository: Repository,
  aliases: readonly ProjectAlias[],
  machine: number,
): Project | undefined {
  const settled = settledProject(table, repository, machine);
  if (settled) return settled;
  const known = aliases.flatMap((alias) => {
    const project = projectOfAlias(table, alias);
    return project === undefined ? [] : [{ alias, project }];
  });
  const first = known[0];
  if (!known.some(({ alias }) => alias.kind === 'path')) refuseMoved(table, repository, first?.project, machine);
  if (first === undefined) return undefined;
  const other = known.find(({ project }) => project.id !== first.project.id);
  if (other !== undefined) throw disagreement(repository, first, other);

  // A path known for a project of another remote: the checkout may have been replaced by that of another project.
  const origin = repository.origin;
  if (origin === null || first.alias.kind === 'remote') return first.project;
  if (!hasRemote(table, repository, first.project, machine)) return first.project;
  throw disagreement(repository, { alias: originAlias(origin, machine), project: undefined }, first);
}

/** The project that a person gave one of the paths to, when the remote is what it was then. */
function settledProject(table: ProjectTable, repository: Repository, machine: number): Project | undefined {
  if (repository.origin === null) return undefined;
  const paths = table.settledPaths(machine, repository.origin.value);
  return paths.find(({ path }) => repository.paths.includes(path))?.project;
}

/** Nothing else tells a linked checkout that was moved from a new clone of the same remote. */
function refuseMoved(table: ProjectTable, repository: Repository, remote: Project | undefined, machine: number): void {
  const moved = goneCheckouts(table, repository, machine).find(({ project }) => project.id !== remote?.id);
  if (moved) throw perhapsMoved(repository, moved, remote);
}

/** Paths that overrule the remote which this repository has, and where there is nothing any more. */
export function goneCheckouts(
  table: ProjectTable,
  repository: Repository,
  machine: number,
): { readonly path: string; readonly project: Project }[] {
  if (repository.origin === null) return [];
  return table.settledPaths(machine, repository.origin.value).filter(({ path }) => !existsSync(path));
}

/** True when a project is known by a remote, or by what this checkout had for one. */
function hasRemote(table: ProjectTable, repository: Repository, project: Project, machine: number): boolean {
  return table.aliases(project.id).some(({ kind, machine: where, value, settled }) => {
    if (kind === 'path') return settled !== null && where === machine && repository.paths.includes(value);
    // A remote that is this very repository is that of a clone of it.
    return (where === EVERYWHERE || where === machine) && !repository.paths.includes(value);
  });
}
