import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { isSystemError, MendError } from '../../errors.js';
import type { HarnessEnvironment } from '../adapter.js';

/** File in a home that mend made. It says which home is the user's, and has an id that no other home has. */
export const MARK = '.mend-home.json';

/** What the mark of a home says. */
export interface HomeMark {
  readonly id: string;
  /** The user's own home, whose login and settings it shares. */
  readonly user: string;
}

/** The mark of a home; undefined where mend did not make it. */
export function readMark(home: string): HomeMark | undefined {
  try {
    const mark = JSON.parse(readFileSync(join(home, MARK), 'utf8')) as Partial<HomeMark>;
    return typeof mark.id === 'string' && typeof mark.user === 'string' ? { id: mark.id, user: mark.user } : undefined;
  } catch (error) {
    // One that cannot be entered is no reason to leave all other memory alone.
    if (isSystemError(error, 'ENOENT', 'ENOTDIR', 'EACCES') || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * The user's own Codex home: `${CODEX_HOME:-~/.codex}`. Where CODEX_HOME names a home that mend made, as in a program that
 * a Codex under mend started, it is the one that was shared with that.
 * @throws {MendError} when the environment cannot tell.
 */
export function userHome(env: HarnessEnvironment): string {
  const configured = env['CODEX_HOME'] ?? '';
  if (configured !== '') {
    const here = env['PWD'] ?? '';
    const path = isAbsolute(configured) ? configured : isAbsolute(here) ? join(here, configured) : undefined;
    if (path === undefined) throw new MendError('CODEX_HOME is a relative path: set it to an absolute one');
    return readMark(path)?.user ?? path;
  }
  const home = env['HOME'] ?? '';
  if (isAbsolute(home)) return join(home, '.codex');
  throw new MendError('HOME is not set to an absolute path: set it to your home folder');
}
