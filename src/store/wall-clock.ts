import type { Clock } from '../ports/clock.js';

/** µs by which the clock may lag behind what it said before it counts as set back. */
const CLOCK_SET_BACK = 1_000_000;

let last = 0;

/** Wall-clock time, each call later than the one before unless the clock was set back. */
export const now: Clock = () => {
  const micros = Date.now() * 1000;
  last = micros > last || last - micros > CLOCK_SET_BACK ? micros : last + 1;
  return last;
};
