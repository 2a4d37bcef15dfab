import { EVERYWHERE, type Project, type ProjectAlias, type ProjectTable } from '../store/projects.js';
import type { RemoteIdentity } from './remote-url.js';
import type { Repository } from './repository.js';

/** Everything that identifies a repository on a machine (a row id), its remote first. */
export function aliasesOf(repository: Repository, machine: number): ProjectAlias[] {
  const paths = repository.paths.map((value): ProjectAlias => ({ kind: 'path', machine, value }));
  const origin = repository.origin;
  return origin === null ? paths : [originAlias(origin, machine), ...paths];
}

/** A remote as an alias. */
export function originAlias(origin: RemoteIdentity, machine: number): ProjectAlias {
  return { kind: 'remote', machine: origin.scope === 'everywhere' ? EVERYWHERE : machine, value: origin.value };
}

/** The project of an alias. A folder that is another checkout's origin is known by either name: as remote, or as path. */
export function projectOfAlias(table: ProjectTable, alias: ProjectAlias): Project | undefined {
  const known = table.find(alias);
  if (known || alias.machine === EVERYWHERE || !alias.value.startsWith('/')) return known;
  return table.find({ ...alias, kind: alias.kind === 'path' ? 'remote' : 'path' });
}
