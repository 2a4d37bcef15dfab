import { MendError } from '../errors.js';
import type { Project, ProjectAlias } from '../store/projects.js';
import { printable } from './printable.js';
import type { Repository } from './repository.js';
import { shellWords } from './shell-word.js';

/** What an alias says: it belongs to a project, or to none yet. */
export interface Claim {
  readonly alias: ProjectAlias;
  readonly project: Project | undefined;
}

/** Two things that are known of a checkout speak for different projects. */
export function disagreement(repository: Repository, left: Claim, right: Claim): MendError {
  const says = ({ alias, project }: Claim) =>
    `the ${alias.kind} ${printable(alias.value)} belongs ${project ? `to project "${project.name}"` : 'to no project yet'}`;
  return new MendError(`${says(left)} but ${says(right)}: ${remedy(repository, [left.project, right.project])}`);
}

/**
 * A checkout that a person gave to a project, against its remote, is gone, and this one may be it.
 * @param remote what the remote is known for
 */
export function perhapsMoved(
  repository: Repository,
  gone: { readonly path: string; readonly project: Project },
  remote: Project | undefined,
): MendError {
  const value = printable(repository.origin?.value ?? '');
  const known = remote ? `project "${remote.name}"` : 'no project yet';
  return new MendError(
    `the remote ${value} belongs to ${known}, but a checkout of it that is gone, ${printable(gone.path)}, ` +
      `was linked to project "${gone.project.name}": ${remedy(repository, [remote, gone.project])}`,
  );
}

/** The commands that settle which project a checkout belongs to, to be pasted into a shell from any folder. */
function remedy(repository: Repository, candidates: readonly (Project | undefined)[]): string {
  const { root } = repository;
  // A path that cannot be shown as it is cannot be pasted: the command is for the checkout then.
  const folder = printable(root) === root ? [root] : [];
  const named = candidates.filter((project) => project !== undefined);
  const links = named.map(({ name }) => `"mend project link ${shellWords(name, ...folder)}"`);
  const belongs =
    named.length > 1 ? 'for the project that this checkout belongs to' : 'if this checkout is that project';
  return `run ${links.join(' or ')} ${belongs}, or "${['mend project new', ...folder.map((path) => shellWords(path))].join(' ')}" if it is a new one`;
}
