import { mayBeSlow } from '../merge/may-be-slow.js';
import { merge } from '../merge/merge.js';
import type { MergeResult } from '../merge/merge-result.js';
import type { MergeOptions } from '../merge/merge-sides.js';
import { explainingBase } from './base.js';

/** A session's text that meets a head which is not what it was made from. */
export interface Meeting {
  /** What the text may have been made from (`candidateBases`); none when those bytes are gone. */
  readonly bases: readonly Buffer[];
  /** Whether the last of them was read more than once, or by a program that was started for it. */
  readonly reread: boolean;
  readonly head: Buffer;
  readonly text: Buffer;
  readonly options: MergeOptions;
}

/** What became of it, and the base that was taken: an index of `bases`, -1 when there was none. */
export interface Reconciled {
  readonly base: number;
  readonly result: MergeResult;
}

/** Merges a session's text into the head by the base that explains the text best. Pure, and slow for large texts. */
export function reconcile({ bases, reread, head, text, options }: Meeting): Reconciled {
  const base = bases.length === 0 ? -1 : explainingBase(bases, text, reread);
  return { base, result: merge({ base: bases[base] ?? null, store: head, other: text }, options) };
}

/** Tells whether a meeting could take so long that others would have to wait for it. */
export function isSlow({ bases, head, text, options }: Meeting): boolean {
  const all = bases.length === 0 ? [null] : bases;
  return all.some((base) => mayBeSlow({ base, store: head, other: text }, options.path));
}
