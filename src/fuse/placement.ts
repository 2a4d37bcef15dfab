import type { Native } from './native.js';

/** Requests of one thread in a row after which it is looked where it runs. */
const PATIENCE = 32;
/** Requests after which it is looked again. */
const INTERVAL = 256;

/**
 * Keeps the serving thread on the processor of a thread that makes one call after another. The two never work at the
 * same time, but a scheduler with a processor to spare puts them on two, and waking one from the other costs several
 * times what the call itself does. As soon as anybody else calls, or nobody does, the serving thread may run anywhere.
 */
export class Placement {
  readonly #native: Native;
  readonly #processorOf: (thread: number) => number | undefined;
  #thread = 0;
  /** Requests of `#thread` in a row. */
  #run = 0;
  /** `#run` at which it is looked where the thread is. */
  #look = PATIENCE;
  #bound = -1;
  #idle = false;

  /** @param processorOf the processor a thread ran on last (proc_pid_stat(5), field 39) */
  constructor(native: Native, processorOf: (thread: number) => number | undefined) {
    this.#native = native;
    this.#processorOf = processorOf;
  }

  /** Notes a request; 0 stands for a thread that is not known, which says nothing. */
  served(thread: number): void {
    if (thread === 0) return;
    this.#idle = false;
    if (thread !== this.#thread) {
      this.#thread = thread;
      this.#run = 0;
      this.#look = PATIENCE;
      this.#release();
    } else if (++this.#run >= this.#look) {
      this.#look = this.#run + INTERVAL;
      this.#follow(thread);
    }
  }

  /** Called now and then: lets go of the processor when nobody called since the last time. */
  rest(): void {
    if (this.#idle) this.#release();
    this.#idle = true;
  }

  #follow(thread: number): void {
    const processor = this.#processorOf(thread);
    if (processor === undefined || processor === this.#bound) return;
    if (this.#native.bindTo(processor) === 0) this.#bound = processor;
  }

  #release(): void {
    if (this.#bound < 0) return;
    this.#native.bindTo(-1);
    this.#bound = -1;
    this.#look = this.#run + PATIENCE;
  }
}
