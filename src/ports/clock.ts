/** Time in µs since the epoch. */
export type Clock = () => number;
