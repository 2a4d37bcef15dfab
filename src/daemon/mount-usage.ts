import type { MountUsage } from './messages.js';
import type { Mounted } from './server.js';

/** What `mend status` says of a mount. */
export function usageOf({ request, view }: Mounted): MountUsage {
  const { quota } = view.tree;
  return {
    mount: request.mount,
    files: quota.files,
    bytes: quota.bytes,
    limitFiles: quota.limits.files,
    limitBytes: quota.limits.bytes,
    refused: quota.refused ?? null,
    sessions: [
      ...new Set(
        [...view.handles.values()].flatMap((handle) => (handle.kind === 'local' ? [] : [handle.session.name])),
      ),
    ],
  };
}
