import { unmountWithFusermount } from '../fuse/fusermount.js';
import { writeBack } from '../import/write-back.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import type { SkippedFile, UnmountAnswer } from './control-protocol.js';
import { isDead, MOUNT_TYPE, mountTable, realPath } from './mount-point.js';

/** Mounts that this process sees and whose daemon died, whatever store it served. */
async function deadMounts(): Promise<string[]> {
  const ours = [...mountTable()].flatMap(([path, type]) => (type === MOUNT_TYPE ? [path] : []));
  const dead = await Promise.all(ours.map(isDead));
  return ours.filter((_, i) => dead[i]);
}

/** Mounts of a store that this process sees and whose daemon died. */
export async function deadMountsOf(store: Store): Promise<string[]> {
  return (await deadMounts()).filter((path) => treeAt(store, path));
}

/**
 * Takes dead mounts off that this store's daemon served, or that are named, and writes the memory back under them.
 * @param paths mount points, or undefined for all of this store
 */
export async function removeDeadMounts(store: Store, paths: readonly string[] | undefined): Promise<UnmountAnswer> {
  const unmounted: string[] = [];
  const skipped: SkippedFile[] = [];
  const wanted = paths?.map(realPath);
  for (const path of await deadMounts()) {
    const tree = treeAt(store, path);
    if (wanted ? !wanted.includes(path) : !tree) continue;
    await unmountWithFusermount(path, true);
    if (tree) skipped.push(...writeBack(store, tree, path, true).skipped);
    unmounted.push(path);
  }
  return { unmounted, failed: [], skipped };
}

function treeAt(store: Store, path: string): TreeRow | undefined {
  const [mount] = store.trees.mountsAt(store.machine, path);
  return mount && store.trees.get(mount.tree);
}
