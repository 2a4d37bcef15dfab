import type { Project, ProjectTable } from '../store/projects.js';
import { originAlias } from './aliases.js';
import { nameChoices } from './name.js';
import type { RemoteIdentity } from './remote-url.js';
import type { ResolveContext } from './resolve.js';

/** The project that a remote is known for, else a new one, for memory that comes before any checkout of it. */
export function projectOfRemote(
  table: ProjectTable,
  origin: RemoteIdentity,
  { machine, now }: ResolveContext,
): Project {
  const alias = originAlias(origin, machine);
  return table.immediate(() => {
    const known = table.find(alias);
    if (known) return known;
    const project = table.create(nameChoices({ kind: 'git', root: '/', paths: ['/'], origin }), now);
    table.addAlias(project.id, alias);
    return project;
  });
}
