import { type FSWatcher, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { describeError, log } from '../log.js';
import { STORE_FILE } from '../store/location.js';

/** How long, in ms, nothing happens until the work rests. */
const QUIET = 10_000;
/** How often, in ms, it is done while it rests, for what no notice comes of: a folder above the store that is moved. */
const SELDOM = 30_000;

/**
 * Does work again and again while something happens, and next to never while nothing does: a person who is away costs
 * no processor time. What wakes it is a call (`stir`), or a change of a file in the store's folder (inotify(7)), which
 * whoever writes to the store makes, in this process or another.
 */
export class Pulse {
  readonly #folder: string;
  readonly #every: number;
  readonly #work: () => void;
  readonly #turned: (rests: boolean) => void;
  #timer: NodeJS.Timeout;
  #watcher: FSWatcher | undefined;
  #hasEnded = false;
  #canRest = true;
  #stirred = true;
  #since = 0;
  #written = 0;

  /**
   * @param every pause between two turns, in ms
   * @param turned told when it begins to rest, and when it is awake again
   */
  constructor(folder: string, every: number, work: () => void, turned: (rests: boolean) => void = () => undefined) {
    this.#folder = folder;
    this.#every = every;
    this.#work = work;
    this.#turned = turned;
    this.#timer = setInterval(() => this.#beat(), every);
  }

  /** Something happened. */
  stir(): void {
    this.#stirred = true;
    if (this.#watcher) this.#wake();
  }

  end(): void {
    this.#hasEnded = true;
    clearInterval(this.#timer);
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #beat(): void {
    this.#work();
    if (this.#hasEnded) return;
    const now = performance.now();
    if (this.#hasHappened()) this.#since = now;
    else if (this.#canRest && now - this.#since >= QUIET) this.#rest();
  }

  /** Whether something did since it was asked last. */
  #hasHappened(): boolean {
    const written = statSync(join(this.#folder, `${STORE_FILE}-wal`), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    const happened = this.#stirred || written !== this.#written;
    this.#stirred = false;
    this.#written = written;
    return happened;
  }

  #rest(): void {
    try {
      this.#watcher = watch(this.#folder, () => this.stir());
      this.#watcher.on('error', (error) => this.#cannotRest(error));
    } catch (error) {
      this.#cannotRest(error);
      return;
    }
    clearInterval(this.#timer);
    this.#timer = setInterval(this.#work, SELDOM);
    this.#turned(true);
    // Once more, for what came before the watch.
    this.#work();
    if (!this.#hasEnded && this.#hasHappened()) this.stir();
  }

  #wake(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    clearInterval(this.#timer);
    this.#since = performance.now();
    this.#timer = setInterval(() => this.#beat(), this.#every);
    this.#turned(false);
  }

  /** There are no more watches for this person, for instance (`fs.inotify.max_user_watches`). */
  #cannotRest(error: unknown): void {
    this.#canRest = false;
    log('warn', 'the folder of the store cannot be watched, so the daemon does not rest', {
      error: describeError(error),
    });
    if (this.#watcher) this.#wake();
  }
}
