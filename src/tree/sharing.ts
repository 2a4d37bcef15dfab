import type { View } from './view.js';
import type { ViewOperations } from './view-operations.js';

/** What a session that several people steer sees in the place of memory (spec §5.6): a folder of its own. */
export interface Scratch {
  /** Numbers the session. */
  readonly slot: number;
  readonly view: View;
  readonly operations: ViewOperations;
}

/** Tells a mount which sessions several people steer. */
export interface Sharing {
  /** There is such a session that was not ended. */
  readonly isKnown: boolean;
  /** A process of such a session may run: names and attributes are told to one caller, and not to the kernel for all. */
  readonly isActive: boolean;
  /** Whether a session, by its key, is one. */
  isShared(session: string): boolean;
  /** What such a session sees on a mount; undefined for any other session. */
  scratchOf(view: View, session: string): Scratch | undefined;
  /** The same by number; undefined when it is gone. */
  scratchAt(view: View, slot: number): Scratch | undefined;
  /** All of a mount. */
  scratches(view: View): Iterable<Scratch>;
}

/**
 * A kernel has one space of node ids for a mount. Memory's ids are below `ALIAS`; the same nodes have a second id above it,
 * and every scratch has ids of its own from `FIRST` on. The root is 1 to everybody.
 */
const ALIAS = 2 ** 39;
const FIRST = 2 ** 40;
const SPAN = 2 ** 32;

/** What a kernel's node id stands for: a node of memory (slot undefined), or of a scratch. */
export interface KernelNode {
  readonly slot: number | undefined;
  readonly id: number;
}

export function nodeOf(kernelId: number): KernelNode {
  if (kernelId < ALIAS) return { slot: undefined, id: kernelId };
  if (kernelId < FIRST) return { slot: undefined, id: kernelId - ALIAS };
  const slot = Math.floor((kernelId - FIRST) / SPAN);
  return { slot, id: kernelId - baseOf(slot) };
}

/** What is added to the ids of a scratch. */
export function baseOf(slot: number): number {
  return FIRST + slot * SPAN;
}

/** The second id of a node of memory. */
export function aliasOf(id: number): number {
  return id + ALIAS;
}
