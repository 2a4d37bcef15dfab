/**
 * A time as `utimes` and `futimes` of Node.js take it: as text, because a number before 1970 is taken for now, and half a
 * microsecond farther from 1970, because the rest is cut off.
 * @param micros µs since the epoch
 */
export function fileTime(micros: number): string {
  return String((micros + (micros < 0 ? -0.5 : 0.5)) / 1e6);
}
