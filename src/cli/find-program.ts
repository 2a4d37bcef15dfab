import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs';
import { basename, delimiter, resolve } from 'node:path';
import { readSettings, settingsFile } from '../daemon/settings.js';
import { isSystemError, MendError } from '../errors.js';
import type { MemoryHarness } from '../harness/adapter.js';
import { quoted } from './output.js';

/** Exit statuses of a program that cannot be started, as of env(1) and nohup(1). */
export const CANNOT_RUN = 126;
export const NOT_FOUND = 127;

/** A program to start. */
export interface FoundProgram {
  /** Absolute path. */
  readonly path: string;
  /** What the program is told to be called, as by a shell. */
  readonly name: string;
}

/** Why a program cannot be started, with the exit status that says so. */
export class NoProgram extends MendError {
  readonly status: typeof CANNOT_RUN | typeof NOT_FOUND;

  constructor(status: NoProgram['status'], message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Finds a harness's program: the one that the settings name, else the first in PATH, as a shell does.
 * @throws {NoProgram} when there is none that can be run.
 */
export function findProgram(harness: MemoryHarness, env: NodeJS.ProcessEnv, folder: string): FoundProgram {
  const set = readSettings(env).programs[harness.name];
  if (set !== undefined) {
    const kind = kindOf(set);
    if (kind === 'program') return { path: set, name: basename(set) };
    const fault = kind === undefined ? 'is not there' : 'cannot be run';
    throw new NoProgram(
      kind === undefined ? NOT_FOUND : CANNOT_RUN,
      `${quoted(set)} ${fault}: correct "programs" in ${quoted(settingsFile(env))}`,
    );
  }
  let unusable: string | undefined;
  for (const name of harness.launch.programs)
    for (const entry of (env['PATH'] ?? DEFAULT_PATH).split(delimiter)) {
      const path = resolve(folder, entry, name);
      const kind = kindOf(path);
      if (kind === 'program') return { path, name };
      if (kind === 'file') unusable ??= path;
    }
  if (unusable !== undefined)
    throw new NoProgram(CANNOT_RUN, `${quoted(unusable)} cannot be run: make it executable, or put another into PATH`);
  throw new NoProgram(
    NOT_FOUND,
    `there is no program "${harness.launch.programs[0]}" in PATH: install ${harness.title}, or set "programs" in ${quoted(settingsFile(env))}`,
  );
}

/** Where programs are looked for without PATH, as by glibc's execvp(3). */
const DEFAULT_PATH = '/bin:/usr/bin';

/** What lies at a path: a program, a file that is none, or (undefined) nothing that could be one. */
function kindOf(path: string): 'program' | 'file' | undefined {
  try {
    if (!statSync(path).isFile()) return undefined;
    accessSync(path, constants.X_OK);
    return 'program';
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return statOrNothing(path) ? 'file' : undefined;
  }
}

function statOrNothing(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}

/** What the first line of a script names as its interpreter (execve(2)), if that is not there. */
export function missingInterpreter(path: string): string | undefined {
  const [, interpreter] = /^#![ \t]*([^ \t\n]+)/.exec(headOf(path)) ?? [];
  return interpreter === undefined || existsSync(interpreter) ? undefined : interpreter;
}

/** The first bytes of a file, as far as execve(2) looks at them. */
function headOf(path: string): string {
  const bytes = Buffer.alloc(256);
  try {
    const fd = openSync(path, 'r');
    try {
      return bytes.toString('utf8', 0, readSync(fd, bytes));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (isSystemError(error)) return '';
    throw error;
  }
}
