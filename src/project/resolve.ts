import { basename, dirname } from 'node:path';
import { MendError } from '../errors.js';
import { EVERYWHERE, type NameChoices, type Project, type ProjectAlias, type ProjectTable } from '../store/projects.js';
import { printable } from './printable.js';
import type { RemoteIdentity } from './remote-url.js';
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
 * projects, or the path is known for a project of another remote, nothing is changed and `MendError` is thrown.
 */
export function resolveProject(table: ProjectTable, repository: Repository, context: ResolveContext): Project {
  const aliases = aliasesOf(repository, context.machine);
  const settled = agreed(table, repository, aliases, context.machine);
  if (settled !== undefined && aliases.every((alias) => table.find(alias) !== undefined)) return settled;
  return table.immediate(() => {
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
  throw new MendError(`there is no project "${printable(name)}": "mend project list" shows the names`);
}

function aliasesOf(repository: Repository, machine: number): ProjectAlias[] {
  const paths = repository.paths.map((value): ProjectAlias => ({ kind: 'path', machine, value }));
  const origin = repository.origin;
  return origin === null ? paths : [originAlias(origin, machine), ...paths];
}

function originAlias(origin: RemoteIdentity, machine: number): ProjectAlias {
  return { kind: 'remote', machine: origin.scope === 'everywhere' ? EVERYWHERE : machine, value: origin.value };
}

/** The one project that everything known of the repository speaks for; undefined when nothing is known. */
function agreed(
  table: ProjectTable,
  repository: Repository,
  aliases: readonly ProjectAlias[],
  machine: number,
): Project | undefined {
  const known = aliases.flatMap((alias) => {
    const project = table.find(alias) ?? cloneOrOrigin(table, alias, machine);
    return project === undefined ? [] : [{ alias, project }];
  });
  const first = known[0];
  if (first === undefined) return undefined;
  const other = known.find(({ project }) => project.id !== first.project.id);
  if (other !== undefined) throw disagreement(first.alias, first.project.name, other.alias, other.project.name);

  // A path known for a project of another remote: the checkout may have been replaced by that of another project.
  const origin = repository.origin;
  if (origin === null || first.alias.kind === 'remote') return first.project;
  const recorded = table
    .aliases(first.project.id)
    .filter(({ kind, machine: where }) => kind === 'remote' && (where === EVERYWHERE || where === machine))
    .filter(({ value }) => !repository.paths.includes(value)); // a clone of this very repository
  if (recorded.length === 0) return first.project;
  throw disagreement(originAlias(origin, machine), null, first.alias, first.project.name);
}

/** A folder that is another checkout's origin is known by either name: as that remote, or as a path. */
function cloneOrOrigin(table: ProjectTable, alias: ProjectAlias, machine: number): Project | undefined {
  if (alias.machine === EVERYWHERE || !alias.value.startsWith('/')) return undefined;
  return table.find({ kind: alias.kind === 'path' ? 'remote' : 'path', machine, value: alias.value });
}

function disagreement(left: ProjectAlias, leftName: string | null, right: ProjectAlias, rightName: string): MendError {
  const says = (alias: ProjectAlias) => `${alias.kind} ${printable(alias.value)}`;
  const leftSide = leftName === null ? 'to no project yet' : `to project "${leftName}"`;
  const candidates = leftName === null ? [rightName] : [leftName, rightName];
  const link = candidates.map((name) => `"mend project link ${shellWord(name)}"`).join(' or ');
  return new MendError(
    `the ${says(left)} belongs ${leftSide} but the ${says(right)} belongs to project "${rightName}": ` +
      `run ${link} if this checkout is that project, or "mend project new" if it is a new one`,
  );
}

/** `name`, then `owner/name`: of the remote where there is one, of the folder otherwise. */
function nameChoices(repository: Repository): NameChoices {
  const path = repository.origin?.value ?? repository.root;
  const name = nameOf(basename(path)) || 'root';
  const parent = dirname(path);
  // The first segment of a remote on a host is the host, which owns nothing.
  const owned = path.startsWith('/') ? parent !== '/' : parent.includes('/');
  return owned ? [name, `${nameOf(basename(parent))}/${name}`] : [name];
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function nameOf(segment: string): string {
  return printable(segment).replace(/(?<=.)\.git$/, '');
}
