/** Time in µs since the epoch. */
export type Clock = () => number;

/** Farthest time from the epoch, in µs (the year 4253): up to here every millisecond has a number of its own. */
const FARTHEST = 2 ** 56;

/** The nearest time to one that somebody asks for which can be stored, as other file systems have a last one too. */
export function storableTime(time: number): number {
  return Math.max(-FARTHEST, Math.min(FARTHEST, Math.floor(time)));
}
