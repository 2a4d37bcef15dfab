import { type MergeRefusal, refusalPhrase } from '../merge/merge-result.js';
import type { ConflictReason } from './plan.js';

/** Why a file is a conflict, for people; what met before and was not settled has no reason of its own. */
export function conflictReason(reason: ConflictReason | undefined): string {
  if (reason === undefined) return 'was a conflict before, and neither side has changed since';
  if (reason === 'over the limit') return 'cannot be merged: the result would be over the limit';
  return `cannot be merged: ${refusalPhrase(reason satisfies MergeRefusal)}`;
}
