import { execFile } from 'node:child_process';
import { isSystemError, MendError } from '../errors.js';
import { printable } from './printable.js';

/** How Git answered: its exit status, and its output as text. */
export interface GitAnswer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const TIME_LIMIT_MS = 20_000;

/** The caller's choice of configuration files stays; what would point Git at another repository goes. */
const KEPT = new Set(['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM']);

/**
 * Runs `git` about one folder, never inside it: the working folder of the child is `/`, so that no process
 * of ours sits in a mount. Output is in English whatever the locale. Throws `MendError` when Git cannot run.
 */
export function git(folder: string, args: readonly string[], env: Environment = process.env): Promise<GitAnswer> {
  const command = ['-c', 'core.fsmonitor=false', '-C', folder, ...args];
  const options = { cwd: '/', env: gitEnvironment(env), timeout: TIME_LIMIT_MS, maxBuffer: 1 << 20 };
  return new Promise((resolve, reject) => {
    execFile('git', command, options, (error, stdout, stderr) => {
      if (error === null) resolve({ status: 0, stdout, stderr });
      else if (typeof error.code === 'number') resolve({ status: error.code, stdout, stderr });
      else reject(cannotRun(error, error.killed === true, printable(folder)));
    });
  });
}

function gitEnvironment(env: Environment): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || KEPT.has(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C', LANGUAGE: '', GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0' };
}

function cannotRun(error: Error, killed: boolean, folder: string): MendError {
  const options = { cause: error };
  if (killed)
    return new MendError(`Git gave no answer about "${folder}" in ${TIME_LIMIT_MS / 1000} s: try again`, options);
  const reason = `Git could not be run: check that "git --version" works (${error.message})`;
  const missing = isSystemError(error, 'ENOENT');
  return new MendError(missing ? 'Git was not found: install the package "git" and try again' : reason, options);
}
