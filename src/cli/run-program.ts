import { getSystemErrorName } from 'node:util';
import { MendError } from '../errors.js';
import { loadNative } from '../fuse/native.js';
import type { HarnessEnvironment } from '../harness/adapter.js';
import { CANNOT_RUN, type FoundProgram, missingInterpreter, NOT_FOUND, NoProgram } from './find-program.js';
import { GroupSignals } from './group-signals.js';
import { inheritedDescriptors, rawArguments, rawEnvironment } from './inherited.js';
import { followSignals } from './job-control.js';
import { quoted } from './output.js';

/** How a program ended: by itself, or by a signal (its number). */
export type Ending = { readonly code: number } | { readonly signal: number };

export interface ProgramOptions {
  /** The last arguments of this process. */
  readonly given: readonly string[];
  /** What the program gets: those, in their order, and others. */
  readonly args: readonly string[];
  /** What of its environment differs from that of this process; undefined is what must not be there. */
  readonly changes: HarnessEnvironment;
  readonly cwd: string;
  /** Told of the program's process id as soon as it runs. */
  readonly started: (pid: number) => void;
}

/** Far longer than any program runs; a timer keeps this process going. */
const FOR_EVER = 2 ** 31 - 1;

/**
 * Runs a program in the place of this process: with its input, output, open files and terminal, and with every signal that it
 * gets. What the program starts stays below this process, also where its parent ends.
 * @throws {NoProgram} when it cannot be started.
 */
export async function runProgram({ path, name }: FoundProgram, options: ProgramOptions): Promise<Ending> {
  const native = loadNative();
  const { given, args, changes, cwd, started } = options;
  const texts = [Buffer.from(name), ...rawArguments(given, args)];
  const environment = rawEnvironment(changes);
  const adopted = native.adoptOrphans();
  if (adopted < 0)
    throw new MendError(`the program cannot be started: the system refuses to adopt (errno ${-adopted})`);
  const group = new GroupSignals();
  let pid: number | undefined;
  const ended = new Promise<number>((resolve) => {
    // Ahead of the start, so that no signal finds nobody.
    followSignals(
      () => pid,
      group,
      () => {
        const status = native.buryOrphans(pid ?? 0);
        if (status < 0) return;
        pid = undefined;
        resolve(status);
      },
    );
  });
  const alive = setInterval(() => undefined, FOR_EVER);
  try {
    const child = native.startProgram(
      ...([Buffer.from(path), texts, environment, Buffer.from(cwd)] as const),
      inheritedDescriptors() as number[],
    );
    if (child < 0) throw cannotStart(path, child);
    pid = child;
    started(child);
    return endingOf(await ended);
  } finally {
    clearInterval(alive);
    group.end();
  }
}

function cannotStart(path: string, code: number): NoProgram {
  const name = getSystemErrorName(code);
  const interpreter = name === 'ENOENT' ? missingInterpreter(path) : undefined;
  const other = name === 'ENOENT' ? 'a file that it needs is not there (ENOENT)' : name;
  const why = interpreter === undefined ? other : `its first line names ${quoted(interpreter)}, which is not there`;
  return new NoProgram(name === 'ENOENT' ? NOT_FOUND : CANNOT_RUN, `${quoted(path)} cannot be started: ${why}`);
}

/** Takes a status of wait(2) apart. */
function endingOf(status: number): Ending {
  const signal = status & 0x7f;
  return signal === 0 ? { code: (status >> 8) & 0xff } : { signal };
}

/** Ends this process as a program ended, for whoever started it to see. Leaves the terminal as the program left it. */
export function endAs(ending: Ending): never {
  const native = loadNative();
  if ('code' in ending) return native.exitAtOnce(ending.code);
  return native.endBySignal(ending.signal);
}
