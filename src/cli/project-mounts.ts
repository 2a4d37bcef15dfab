import { connectServing } from '../daemon/control-client.js';
import { statusRequest } from '../daemon/control-protocol.js';
import { MOUNT_TYPE, mountTable } from '../daemon/mount-point.js';
import { knownOwners, runtimeFiles } from '../daemon/runtime-files.js';
import { MendError } from '../errors.js';
import { shellWords } from '../project/shell-word.js';
import type { Project } from '../store/projects.js';
import type { Store } from '../store/store.js';
import { quoted } from './output.js';

/** A folder that is mounted for a project (a row id). */
export interface ProjectMount {
  readonly path: string;
  readonly project: number;
}

/** What this store has mounted, for all that this process sees: also what a daemon that died left. Needs no waiting. */
export function mountsSeen(store: Store): ProjectMount[] {
  const ours = [...mountTable()].flatMap(([path, type]) => (type === MOUNT_TYPE ? [path] : []));
  return ours.flatMap((path) => mountAt(store, path));
}

/** What this store has mounted, also by daemons in other mount namespaces. */
export async function mountsServed(store: Store): Promise<ProjectMount[]> {
  const files = runtimeFiles(store.folder);
  const owners = knownOwners(files);
  const served = await Promise.all(
    owners.map(async (owner) => {
      const client = await connectServing(files, owner);
      if (!client) return [];
      try {
        const status = await Promise.race([client.rpc.sendRequest(statusRequest), client.closed]);
        return (status?.mounts ?? []).flatMap(({ path }) => mountAt(store, path, owner));
      } finally {
        client.close();
      }
    }),
  );
  return [...served.flat(), ...mountsSeen(store)];
}

function mountAt(store: Store, path: string, owner?: string): ProjectMount[] {
  const row = store.trees.mountsAt(store.machine, path).find((one) => owner === undefined || one.owner === owner);
  const tree = row && store.trees.get(row.tree);
  return tree ? [{ path, project: tree.project }] : [];
}

/** @throws {MendError} when one of the mounts is chosen. */
export function refuseMounted(
  mounts: readonly ProjectMount[],
  project: (id: number) => Project | undefined,
  chosen: (mount: ProjectMount) => boolean,
): void {
  const mount = mounts.find(chosen);
  if (!mount) return;
  throw new MendError(
    `the memory of project "${project(mount.project)?.name}" is mounted on ${quoted(mount.path)}: ` +
      `run "mend unmount ${shellWords(mount.path)}" first`,
  );
}
