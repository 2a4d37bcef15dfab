/**
 * What a process remembers beside the store and its successor has to know: open handles, what sessions know, and the
 * like. It outlives the process, not the machine, since the mounts that it speaks of do not either.
 */
export interface Journal {
  /**
   * Notes what stands under a key, or with undefined that nothing does any more. `value` is asked when `flush` is called,
   * so a key that changes several times in one request costs as much as one that changes once.
   * @param canWait it may as well be lost when the process dies before something else is flushed, or `flush(true)` called
   */
  note(key: string, value: (() => unknown) | undefined, canWait?: boolean): void;
  /**
   * Makes what was noted so far outlive this process. Never throws.
   * @param everything also where all that was noted can wait
   */
  flush(everything?: boolean): void;
  /** What an earlier process left under the keys that begin with `prefix`, by the rest of the key. */
  left(prefix: string): Map<string, unknown>;
  /** The same for one key; undefined when there is nothing. */
  get(key: string): unknown;
}

/** For a tree that nobody takes over. */
export const noJournal: Journal = {
  note: () => undefined,
  flush: () => undefined,
  left: () => new Map(),
  get: () => undefined,
};
