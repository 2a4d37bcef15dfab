/** Comparisons of two lines that all exact diffs of one merge may make together. */
const comparisonsPerMerge = 500_000;

/** Lines that all rounds of one merge may look at together, a line once for each round. */
const visitsPerMerge = 12_000_000;

/** Added and removed lines up to which one diff is exact, when lines that only one side has are set aside. */
export const exactEdits = 500;

/**
 * What one merge may still spend on finding out which lines belong together. It is counted, not timed, so that the
 * same input gives the same result on every machine. When it is used up, the lines left count as changed.
 */
export class Work {
  comparisons = comparisonsPerMerge;
  visits = visitsPerMerge;
}
