import { existsSync } from 'node:fs';
import { MendError } from '../../errors.js';
import { discoverRepository, type Repository } from '../../project/repository.js';
import { findProject } from '../../project/resolve.js';
import { shellWords } from '../../project/shell-word.js';
import type { Store } from '../../store/store.js';
import { counted, quoted } from '../output.js';
import type { Examined } from './examined.js';
import { ok, orOk, problemOf, type Result, warning } from './finding.js';

/** The repository of the current folder can be read. */
export function checkRepository({ repository }: Examined): readonly Result[] {
  if (repository instanceof MendError) return [problemOf(repository)];
  const kind = repository.kind === 'git' ? 'a Git repository' : 'a folder outside Git';
  return [ok(`${quoted(repository.root)} is ${kind}`)];
}

/** Path and remote of this repository, and of every checkout that the store knows, speak for one project. */
export async function checkIdentity({ repository }: Examined, store: Store): Promise<readonly Result[]> {
  const own = repository instanceof MendError ? [] : [repository];
  const roots = store.projects
    .list(store.machine)
    .flatMap(({ paths }) => paths)
    .filter((path) => existsSync(path) && !own.some(({ paths }) => paths.includes(path)));
  const faults: Result[] = [];
  for (const root of roots) {
    try {
      identify(store, await discoverRepository(root));
    } catch (error) {
      if (!(error instanceof MendError)) throw error;
      const { status, message, hint } = problemOf(error);
      faults.push({ status, message: `in ${quoted(root)}: ${message}`, hint });
    }
  }
  for (const one of own) {
    try {
      identify(store, one);
    } catch (error) {
      if (!(error instanceof MendError)) throw error;
      faults.push(problemOf(error));
    }
  }
  return orOk(faults, `${counted(roots.length + own.length, 'checkout')} on this machine: path and remote agree`);
}

/** @throws {MendError} where path and remote disagree. */
function identify(store: Store, repository: Repository): void {
  findProject(store.projects, repository, store.machine);
}

/** The checkouts that the store knows on this machine are there. */
export function checkCheckouts(store: Store): readonly Result[] {
  const faults = store.projects.list(store.machine).flatMap(({ name, paths }) => {
    const gone = paths.filter((path) => !existsSync(path));
    if (gone.length === 0 || gone.length < paths.length) return [];
    return [
      warning(
        `project "${name}" has no checkout on this machine any more (${gone.map(quoted).join(', ')})`,
        `run "mend mount" where it is now, or "mend project forget ${shellWords(name)}" when its memory is not needed`,
      ),
    ];
  });
  return orOk(faults, 'every project has a checkout or was never checked out here');
}
