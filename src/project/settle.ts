import type { Project, ProjectAlias, ProjectTable } from '../store/projects.js';
import { originAlias, projectOfAlias } from './aliases.js';
import { nameChoices } from './name.js';
import type { Repository } from './repository.js';
import { goneCheckouts, type ResolveContext } from './resolve.js';

/** What became of the remote of a checkout that was given to a project. */
export type RemoteOutcome =
  /** The checkout has none, or it is a folder that no project is known by. */
  | 'none'
  /** It was the project's before. */
  | 'own'
  /** It was nobody's: the project is known by it now. */
  | 'added'
  /** It was that of a project without another checkout, and goes along. */
  | 'moved'
  /** It stays with a project that has other checkouts. */
  | 'stays';

/** Whom a checkout belongs to now. */
export interface Settlement {
  readonly project: Project;
  /** Projects that the checkout belonged to before; they keep their memory. */
  readonly left: readonly Project[];
  readonly remote: RemoteOutcome;
  /** Whom the remote belongs to, or belonged to when it moved. */
  readonly remoteOf: Project | undefined;
}

/** Has a checkout belong to a project from now on, whatever its remote says. Memory stays where it is. */
export function linkCheckout(
  table: ProjectTable,
  repository: Repository,
  project: Project,
  { machine }: Pick<ResolveContext, 'machine'>,
): Settlement {
  return table.immediate(() => settle(table, repository, project, machine));
}

/**
 * Makes a project for a checkout alone.
 * @returns with `project` the one that it has, when that has no other checkout and no memory yet
 */
export function newProject(table: ProjectTable, repository: Repository, context: ResolveContext): Settlement {
  const { machine, now } = context;
  return table.immediate(() => {
    const own = aloneProject(table, repository, machine);
    return settle(table, repository, own ?? table.create(nameChoices(repository), now), machine);
  });
}

/** The project that only this checkout belongs to, and that never had memory. */
function aloneProject(table: ProjectTable, repository: Repository, machine: number): Project | undefined {
  const project = table.find({ kind: 'path', machine, value: repository.root });
  if (!project || !table.isEmpty(project.id)) return undefined;
  const origin = repository.origin === null ? undefined : originAlias(repository.origin, machine);
  // With another remote it is a checkout of something else, which came in the place of the one that was known.
  const isKnown = table
    .aliases(project.id)
    .some(({ value, settled }) => [value, settled].includes(origin?.value ?? null));
  if (origin && !isKnown) return undefined;
  const others = table.aliases(project.id).filter((alias) => !isOf(alias, repository, machine, origin));
  return others.length === 0 ? project : undefined;
}

function isOf(alias: ProjectAlias, repository: Repository, machine: number, origin: ProjectAlias | undefined): boolean {
  if (alias.kind === 'remote') return alias.machine === origin?.machine && alias.value === origin.value;
  return alias.machine === machine && repository.paths.includes(alias.value);
}

function settle(table: ProjectTable, repository: Repository, project: Project, machine: number): Settlement {
  const before = repository.paths.map((value) => table.find({ kind: 'path', machine, value }));
  const left = before.filter((one) => one !== undefined && one.id !== project.id) as Project[];
  const origin = repository.origin?.value ?? null;
  const remote = settleRemote(table, repository, project, machine);
  // Whether this is one that was moved is answered now. Should it come back, that is asked again.
  for (const gone of goneCheckouts(table, repository, machine)) table.unsettlePath(machine, gone.path);
  for (const path of repository.paths) table.settlePath(project.id, machine, path, origin);
  return { project, left: [...new Map(left.map((one) => [one.id, one])).values()], ...remote };
}

function settleRemote(
  table: ProjectTable,
  repository: Repository,
  project: Project,
  machine: number,
): Pick<Settlement, 'remote' | 'remoteOf'> {
  if (repository.origin === null) return { remote: 'none', remoteOf: undefined };
  const alias = originAlias(repository.origin, machine);
  const owner = projectOfAlias(table, alias);
  if (owner?.id === project.id) return { remote: 'own', remoteOf: project };
  // A folder is a checkout itself, whether anybody has been there or not.
  const isFolder = alias.value.startsWith('/');
  if (owner && (isFolder || hasOtherCheckouts(table, repository, owner, machine)))
    return { remote: 'stays', remoteOf: owner };
  if (isFolder) return { remote: 'none', remoteOf: undefined };
  if (owner) table.removeAlias(alias);
  table.addAlias(project.id, alias);
  return owner ? { remote: 'moved', remoteOf: owner } : { remote: 'added', remoteOf: project };
}

/** Checkouts on any machine count, also where there is nothing at the moment: a disk may be away. */
function hasOtherCheckouts(table: ProjectTable, repository: Repository, project: Project, machine: number): boolean {
  const others = table.aliases(project.id).filter(({ kind }) => kind === 'path');
  return others.some((alias) => alias.machine !== machine || !repository.paths.includes(alias.value));
}
