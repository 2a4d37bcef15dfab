import type { TreeRow } from '../store/tree-table.js';
import type { KernelFeatures } from './messages.js';

/** A mount that this daemon serves. */
export interface Mount {
  readonly id: number;
  /** Where it came up. */
  readonly path: string;
  /** The kernel's number of its file system. */
  readonly device: string | undefined;
  readonly tree: TreeRow;
  readonly features: KernelFeatures;
}

/** Said of the plain folder under a mount that was moved. */
export const MOVED = 'was moved while it was mounted, so no memory was written back there: it is safe in the store';

/** The name under which the supervisor keeps a mount. */
export function keyOf(mount: number): string {
  return `mount ${mount}`;
}

/** Why a mount cannot be taken off. */
export function busy(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /busy/i.test(message)
    ? 'files in it are open or a program works in it: end that program, or use --force'
    : message;
}
