import type { Store } from '../store/store.js';
import type { DaemonStatus } from './control-protocol.js';
import type { Keeper } from './keeper.js';
import type { MountUsage } from './messages.js';
import { movedTo } from './mount-places.js';
import { mendPlaces } from './mount-point.js';
import type { Mounter } from './mounter.js';
import { version } from './version.js';

/** What `mend status` tells of a daemon (spec §11.2). */
export function statusOf(store: Store, mounter: Mounter, keeper: Keeper, usage: readonly MountUsage[]): DaemonStatus {
  const rows = new Map(usage.map((row) => [row.mount, row]));
  const projects = new Map(store.projects.list(store.machine).map((project) => [project.id, project.name]));
  const { mounts, homes } = mounter;
  const places = mendPlaces();
  const features = mounts[0]?.features;
  return {
    version,
    pid: process.pid,
    supervisor_pid: keeper.pid,
    // In force only while somebody is there to start another server.
    kernel: { protocol: features?.protocol ?? null, resend: keeper.pid !== null && features?.resend === true },
    sessions: [...new Set(usage.flatMap((row) => row.sessions))].sort(),
    mounts: mounts.map(({ id, path, device, tree }) => {
      const row = rows.get(id);
      return {
        path,
        project: projects.get(tree.project) ?? '',
        harness: tree.harness,
        files: row?.files ?? 0,
        bytes: row?.bytes ?? 0,
        limit_files: row?.limitFiles ?? 0,
        limit_bytes: row?.limitBytes ?? 0,
        moved: movedTo({ path, device }, places),
        refused: row?.refused ?? homes.refused({ path, tree }),
      };
    }),
  };
}
