import { type MergeRefusal, refusalPhrase } from '../merge/merge-result.js';
import type { ConflictReason } from './plan.js';

/** Why a file is a conflict, for people. */
export function conflictReason(reason: ConflictReason): string {
  if (reason === 'over the limit') return 'cannot be merged: the result would be over the limit';
  return `cannot be merged: ${refusalPhrase(reason satisfies MergeRefusal)}`;
}
