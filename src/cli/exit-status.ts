/** Exit statuses that scripts can rely on (spec §11.1). */
export const ExitStatus = {
  done: 0,
  /** Failed, and nothing changed. */
  failed: 1,
  /** The command line was wrong. */
  usage: 2,
  /** Done, with something left to settle: a conflict, a skipped file. */
  unsettled: 3,
} as const;

export type ExitStatus = (typeof ExitStatus)[keyof typeof ExitStatus];
