import { MendError } from '../errors.js';
import { unmountWithFusermount } from '../fuse/fusermount.js';
import { log } from '../log.js';
import { shellWords } from '../project/shell-word.js';
import { mendPlaces } from './mount-point.js';

/** A mount by where it came up, and by the kernel's number of its file system. */
export interface PlacedMount {
  readonly path: string;
  /** Undefined when it was not found out. */
  readonly device: string | undefined;
}

/** The kernel's number of the file system that is mounted on a path. */
export function deviceAt(path: string): string | undefined {
  return mendPlaces().findLast((one) => one.path === path)?.device;
}

/**
 * Where a mount is now: a folder above it may have been renamed, and a mount goes with its folder. Undefined when it is nowhere
 * in sight.
 */
export function placeNow({ path, device }: PlacedMount, all = mendPlaces()): string | undefined {
  const places = all.filter((one) => (device === undefined ? one.path === path : one.device === device));
  return (places.find((one) => one.path === path) ?? places[0])?.path;
}

/**
 * Where a mount is that is not where it came up; null for all others.
 * @param all what is mounted, where more than one is asked for
 */
export function movedTo(mount: PlacedMount, all = mendPlaces()): string | null {
  const now = placeNow(mount, all);
  return now === undefined || now === mount.path ? null : now;
}

/**
 * Takes a mount off that was moved, so that there can be one in its place again.
 * @throws {MendError} when it is in use.
 */
export async function takeMovedOff(path: string, moved: string): Promise<void> {
  try {
    await unmountWithFusermount(moved, false);
  } catch (error) {
    throw new MendError(
      `the folder of the mount on ${path} was moved to ${moved}, and files are open there: end what uses it, or run "mend unmount --force ${shellWords(moved)}"`,
      { cause: error },
    );
  }
  log('info', 'a mount that was moved is taken off', { path, moved });
}
