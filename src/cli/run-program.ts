import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { MendError } from '../errors.js';
import { loadNative } from '../fuse/native.js';
import type { HarnessEnvironment } from '../harness/adapter.js';
import { CANNOT_RUN, type FoundProgram, NOT_FOUND, NoProgram } from './find-program.js';
import { followSignals } from './job-control.js';
import { quoted } from './output.js';

/** How a program ended: by itself, or by a signal. */
export type Ending = { readonly code: number } | { readonly signal: NodeJS.Signals };

export interface ProgramOptions {
  readonly args: readonly string[];
  readonly env: HarnessEnvironment;
  readonly cwd: string;
  /** Told of the program's process id as soon as it runs. */
  readonly started: (pid: number) => void;
}

/**
 * Runs a program in the place of this process: with its input, output and terminal, and with every signal that it gets.
 * What the program starts stays below this process, also where its parent ends.
 * @throws {NoProgram} when it cannot be started.
 */
export async function runProgram({ path, name }: FoundProgram, options: ProgramOptions): Promise<Ending> {
  const native = loadNative();
  const { args, env, cwd } = options;
  let pid: number | undefined;
  // Ahead of the start, so that no signal finds nobody.
  followSignals(
    () => pid,
    () => native.buryOrphans(pid ?? 0),
  );
  const adopted = native.adoptOrphans();
  if (adopted < 0)
    throw new MendError(`the program cannot be started: the system refuses to adopt (errno ${-adopted})`);
  const child = spawn(path, args, { argv0: name, cwd, env: env as NodeJS.ProcessEnv, stdio: 'inherit' });
  pid = child.pid;
  if (pid !== undefined) options.started(pid);
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      const status = error.code === 'ENOENT' ? NOT_FOUND : CANNOT_RUN;
      reject(new NoProgram(status, `${quoted(path)} cannot be started (${error.code ?? error.message})`));
    });
    child.on('exit', (code, signal) => {
      pid = undefined;
      resolve(signal === null ? { code: code ?? 0 } : { signal });
    });
  });
}

/** Ends this process as a program ended, for whoever started it to see. Leaves the terminal as the program left it. */
export function endAs(ending: Ending): never {
  const native = loadNative();
  if ('code' in ending) return native.exitAtOnce(ending.code);
  return native.endBySignal(constants.signals[ending.signal]);
}
