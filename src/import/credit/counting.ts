import type { Reading, Worktree } from './manifest.js';

/** What a reading is among those of one worktree and harness. */
export type Standing =
  /** The final save of the last shared workspace: it counts. */
  | { readonly kind: 'final' }
  /** The latest there is. It will be read again. */
  | { readonly kind: 'provisional' }
  /** There is a later one. */
  | { readonly kind: 'superseded'; readonly by: Reading };

/**
 * Tells which readings of a worktree count (spec §10.3): for each harness, the final save of the last shared workspace, or
 * while there is none, the latest reading. Pure.
 */
export function standings({ workspaces, readings }: Worktree): Map<Reading, Standing> {
  const last = workspaces.at(-1);
  const rank = (reading: Reading): readonly [number, number, number] => [
    workspaces.indexOf(reading.workspace),
    Number(reading.isFinal),
    reading.time,
  ];
  const latest = (one: Reading, other: Reading): Reading => (isAbove(rank(other), rank(one)) ? other : one);
  return new Map(
    readings.map((reading): [Reading, Standing] => {
      const by = readings.filter(({ harness }) => harness === reading.harness).reduce(latest);
      if (by !== reading) return [reading, { kind: 'superseded', by }];
      return [reading, { kind: reading.isFinal && reading.workspace === last ? 'final' : 'provisional' }];
    }),
  );
}

function isAbove(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at >= 0 && (one[at] ?? 0) > (other[at] ?? 0);
}
