import { merge } from '../merge/merge.js';
import type { MergeRefusal } from '../merge/merge-result.js';
import type { MergeOptions } from '../merge/merge-sides.js';

/** What an import makes of one file (spec §7.3). */
export type Outcome = 'same' | 'added' | 'merged' | 'updated' | 'kept' | 'not added' | 'conflict';

/** Why a file that both sides changed is a conflict. */
export type ConflictReason = MergeRefusal | 'over the limit';

/** One file, as both sides have it. Contents are named by ids: the same bytes have the same id. */
export interface Situation {
  /** What the machine has now; the id is undefined where the store never saw those bytes. */
  readonly machine: { readonly id: number | undefined; readonly bytes: Buffer };
  /** The head, undefined where the store has none. */
  readonly head: { readonly id: number; readonly bytes: () => Buffer } | undefined;
  /** The last import from there: what was sent, and what the store had for it afterwards. */
  readonly base:
    | { readonly sent: number; readonly stored: number; readonly bytes: () => Buffer | undefined }
    | undefined;
  /**
   * Whether this very content could not be merged at an earlier import: `waits` until a person settles it, `settled`
   * since, or `no`.
   */
  readonly disputed: 'waits' | 'settled' | 'no';
  /** Whether the store has this content as a version of kind `conflict`. */
  readonly isKeptAside: boolean;
  readonly options: MergeOptions;
  /** Whether the store may hold a head of so many bytes. */
  readonly fits: (bytes: number) => boolean;
}

/** What is to be done about it. */
export interface Plan {
  readonly outcome: Outcome;
  /** The new head; undefined where the one there is stays. */
  readonly head?: Buffer;
  /** Of a merged head: whether a base was there to merge against. */
  readonly merged?: { readonly base: boolean };
  /** Keep what the machine sent as a version of this kind. */
  readonly keep?: 'imported' | 'conflict';
  /** What the next import is to know: what was exchanged, or that these two could not be merged. */
  readonly remember?: 'exchange' | 'conflict';
  /** Lines that the machine sent and that the result lacks. */
  readonly linesLost?: number;
  readonly reason?: ConflictReason;
}

/** Decides what becomes of one file. Pure; slow where two large texts have to be merged. */
export function plan({ machine, head, base, disputed, isKeptAside, options, fits }: Situation): Plan {
  const conflict = (reason: ConflictReason): Plan => {
    const keep = isKeptAside ? {} : { keep: 'conflict' as const };
    return { outcome: 'conflict', ...keep, remember: 'conflict', reason };
  };
  if (head?.id !== undefined && head.id === machine.id) return { outcome: 'same', remember: 'exchange' };
  if (disputed === 'settled') return { outcome: head ? 'kept' : 'not added', remember: 'exchange' };
  if (base && base.sent === machine.id) return { outcome: head ? 'kept' : 'not added' };
  if (!head) return { outcome: 'added', head: machine.bytes, remember: 'exchange' };
  const replaced: Plan = { outcome: 'updated', head: machine.bytes, remember: 'exchange' };
  if (base?.stored === head.id && base.sent === head.id) return replaced;

  const baseBytes = base?.bytes();
  const sides = { base: baseBytes ?? null, store: head.bytes(), other: machine.bytes };
  const result = merge(sides, options);
  if (result.kind === 'refused') return conflict(result.reason);
  if (result.bytes.equals(machine.bytes))
    return base?.stored === head.id ? replaced : { ...replaced, outcome: 'merged' };
  const settled: Plan = {
    outcome: 'merged',
    remember: 'exchange',
    linesLost: result.gone,
    ...(result.gone > 0 ? { keep: 'imported' as const } : {}),
  };
  if (result.bytes.equals(sides.store)) return settled;
  if (!fits(result.bytes.length)) return conflict('over the limit');
  return { ...settled, head: result.bytes, merged: { base: baseBytes !== undefined } };
}
