import type { Player } from './play.js';
import {
  type Change,
  type Edit,
  type Operation,
  type Process,
  printSchedule,
  type Session,
  type Step,
} from './schedule.js';
import { linesOf } from './texts.js';

/** Numbers from a seed: the same seed gives the same ones (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * limit);
  }

  /** True `percent` times in a hundred. */
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  weighted<T>(choices: readonly (readonly [number, T])[]): T {
    let left = this.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error('nothing to choose from');
  }
}

/** What random schedules may do. */
export interface Scope {
  readonly files: readonly string[];
  /** Only the harness processes themselves, and no time that passes: what real processes can be made to do quickly. */
  readonly plain: boolean;
}

const SESSIONS = ['A', 'B', 'C'] as const satisfies readonly Session[];
const NO_EDIT: Edit = { from: 'known', changes: [] };

/** Chooses steps at random, looking at what the player has going on so that most of them do something. */
export class Chooser {
  readonly #random: Random;
  readonly #scope: Scope;
  #lines = 0;

  constructor(random: Random, scope: Scope) {
    this.#random = random;
    this.#scope = scope;
  }

  /** The steps that a schedule begins with: mostly, a file that everybody has read. */
  begin(): Step[] {
    const random = this.#random;
    const [file = ''] = this.#scope.files;
    const steps: Step[] = [];
    if (random.chance(80)) {
      const changes = ['p.z', 'q.z', 'r.z'].map((add) => ({ add, at: undefined }));
      steps.push(step({ session: 'Z', role: '' }, 'swap', file, { from: 'nothing', changes }));
    }
    if (random.chance(50)) for (const session of SESSIONS) steps.push(step({ session, role: '' }, 'read', file));
    return steps;
  }

  next(player: Player): Step {
    const random = this.#random;
    const role = this.#scope.plain
      ? ''
      : random.weighted<Process['role']>([
          [6, ''],
          [2, "'"],
          [2, '*'],
        ]);
    const process: Process = { session: random.pick(SESSIONS), role };
    const file = this.#scope.files[random.chance(75) ? 0 : random.below(this.#scope.files.length)] ?? '';
    const { reading, writing, temporary } = player.going(process);
    const operation = random.weighted<Operation>([
      [50, 'read'],
      [reading ? 0 : 10, 'keep'],
      [reading ? 15 : 0, 'again'],
      [reading ? 20 : 0, 'drop'],
      [writing ? 0 : 20, 'trunc'],
      [writing ? 0 : 10, 'rw'],
      [writing ? 0 : 15, 'append'],
      [writing ? 0 : 8, 'create'],
      [writing ? 60 : 0, 'put'],
      [writing ? 8 : 0, 'half'],
      [writing ? 8 : 0, 'copy'],
      [writing ? 4 : 0, 'child'],
      [writing ? 50 : 0, 'close'],
      [writing?.mode === 'rw' ? 25 : 0, 'look'],
      [temporary ? 0 : 30, 'swap'],
      [temporary ? 0 : 8, 'swapo'],
      [temporary ? 0 : 10, 'temp'],
      [temporary ? 40 : 0, 'move'],
      [8, 'unlink'],
    ]);
    const late = !this.#scope.plain && random.chance(30);
    const needsFile = !['again', 'drop', 'put', 'half', 'copy', 'child', 'close', 'look', 'move'].includes(operation);
    const writes = ['put', 'half', 'swap', 'swapo', 'temp'].includes(operation);
    const edit = writes ? this.#edit(player, process.session, writing && !needsFile ? writing.name : file) : NO_EDIT;
    return { ...step(process, operation, needsFile ? file : '', edit), late };
  }

  #edit(player: Player, session: Session, file: string): Edit {
    const random = this.#random;
    const from = random.weighted<Edit['from']>([
      [80, 'known'],
      [14, 'older'],
      [6, 'nothing'],
    ]);
    const lines = linesOf(player.reference.source(session, file, from === 'older') ?? null);
    const add = (): Change => ({
      add: `${session.toLowerCase()}${++this.#lines}.x`,
      at: random.below(lines.length + 1),
    });
    const remove = (): Change[] => (lines.length === 0 || from === 'nothing' ? [] : [{ remove: random.pick(lines) }]);
    const changes = random.weighted<() => Change[]>([
      [60, () => [add()]],
      [15, remove],
      [10, () => [...remove(), add()]],
      [8, () => [add(), add()]],
      [7, () => []],
    ]);
    return { from, changes: changes() };
  }
}

function step(process: Process, operation: Operation, file: string, edit = NO_EDIT): Step {
  return { late: false, process, operation, file, edit };
}

/** Leaves out of a failing schedule whatever it fails without, step by step and change by change. */
export async function shrink(
  steps: readonly Step[],
  fails: (steps: readonly Step[]) => Promise<boolean>,
): Promise<Step[]> {
  let best = [...steps];
  for (let before = ''; before !== printSchedule(best); ) {
    before = printSchedule(best);
    for (let at = best.length - 1; at >= 0; at--) {
      for (const simpler of simplerSteps(best[at] as Step)) {
        const tried = [...best.slice(0, at), ...simpler, ...best.slice(at + 1)];
        if (!(await fails(tried))) continue;
        best = tried;
        break;
      }
    }
  }
  return best;
}

function* simplerSteps(it: Step): Generator<Step[]> {
  yield [];
  if (it.late) yield [{ ...it, late: false }];
  if (it.process.role !== '') yield [{ ...it, process: { ...it.process, role: '' } }];
  const { changes } = it.edit;
  for (let at = 0; at < changes.length; at++)
    yield [{ ...it, edit: { ...it.edit, changes: [...changes.slice(0, at), ...changes.slice(at + 1)] } }];
}
