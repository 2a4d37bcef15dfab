import type { Merger } from '../../src/tree/merging.js';
import { freshFolder } from '../store/fresh-store.js';
import { Kernel } from './kernel.js';
import { Mortal } from './mortal.js';
import { Broken, historyFault, Player } from './play.js';
import { Chooser, Random, shrink } from './random.js';
import { printSchedule, type Step } from './schedule.js';

// To play more schedules, or again what has failed:
//   MODEL_SCHEDULES=200000 MODEL_SEED=7 npx vitest run test/model

/** How many schedules one mount gets, and how many two. */
export const COUNT = Math.ceil(Number(process.env['MODEL_SCHEDULES'] ?? 20_000) / 2);
export const SEED = Number(process.env['MODEL_SEED'] ?? 1);
const FILES = ['a', 'b'];
const [FEWEST, MOST] = [12, 25];
/** Schedules on one store; a store that grows gets slower. */
const STORE_SCHEDULES = 500;
/** The same where each death loads the store again. */
const MORTAL_SCHEDULES = 50;
/** Failures after which no more are looked for. */
const ENOUGH = 5;

/** Plays schedules of three sessions on two files, many on one store. */
export class ManySchedules {
  readonly #mounts: 1 | 2;
  readonly #merger: (() => Merger) | undefined;
  readonly #oneIn: number | undefined;
  #kernel: Kernel | undefined;

  /**
   * @param merger makes what merges, in place of the real one
   * @param oneIn how often what serves dies, among all the times that it may
   */
  constructor(mounts: 1 | 2, merger?: () => Merger, oneIn?: number) {
    this.#oneIn = oneIn;
    this.#mounts = mounts;
    this.#merger = merger;
  }

  dispose(): void {
    this.#kernel?.dispose();
    this.#kernel = undefined;
  }

  /** Plays random schedules, the first from `seed`; what is wrong with those that fail, `most` of them at most. */
  async play(seed: number, count: number, most = ENOUGH): Promise<string[]> {
    const failures: string[] = [];
    for (let number = 0; number < count && failures.length < most; number++) {
      const failure = await this.#playRandom(seed * 1_000_003 + number);
      if (failure !== undefined) failures.push(failure);
    }
    return failures;
  }

  /** Plays a schedule; what is wrong, with the smallest schedule that fails. */
  async #playRandom(seed: number): Promise<string | undefined> {
    const random = new Random(seed);
    const player = new Player(this.#ready(), FILES);
    const chooser = new Chooser(random, { files: FILES, plain: false });
    const first = chooser.begin();
    let left = FEWEST + random.below(MOST - FEWEST + 1);
    const next = () => first.shift() ?? (left-- > 0 ? chooser.next(player) : undefined);
    const error = await this.#playSteps(player, next);
    if (!error) return undefined;
    const again = (steps: readonly Step[]) => {
      const queue = [...steps];
      return this.#playSteps(new Player(this.#ready(), FILES), () => queue.shift());
    };
    const least = await shrink(player.steps, async (steps) => (await again(steps)) !== undefined);
    const why = (await again(least)) ?? error;
    return `seed ${seed}, ${this.#mounts} mount(s): ${why.message}\n  schedule: ${printSchedule(least)}`;
  }

  #ready(): Kernel {
    const most = this.#oneIn === undefined ? STORE_SCHEDULES : MORTAL_SCHEDULES;
    if (this.#kernel && this.#kernel.begin() < most) return this.#kernel;
    this.dispose();
    const folder = freshFolder();
    const mortality = this.#oneIn === undefined ? undefined : new Mortal(folder, this.#oneIn);
    this.#kernel = new Kernel(folder, this.#mounts, this.#merger?.(), mortality);
    return this.#kernel;
  }

  /** Plays the steps that `next` gives until it gives none, then checks what is left; the error it fails with. */
  async #playSteps(player: Player, next: () => Step | undefined): Promise<Error | undefined> {
    const kernel = this.#kernel as Kernel;
    try {
      for (let step = next(); step; step = next()) await player.play(step);
      await player.finish(['A', 'B', 'C']);
      const left = kernel.left(FILES);
      if (left.drafts + left.handles > 0) throw new Broken('something is left open');
      for (const file of FILES) {
        const fault = historyFault(player.heads.get(file) ?? [], kernel.history(file));
        if (fault !== undefined) throw new Broken(`the history of ${file} ${fault}`);
      }
      return undefined;
    } catch (error) {
      // What it left open is not to be seen by the next.
      this.dispose();
      return error as Error;
    }
  }
}
