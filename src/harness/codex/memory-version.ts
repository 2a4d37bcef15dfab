import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../../errors.js';
import type { HarnessPlace } from '../adapter.js';
import { memorySettings } from './memory-settings.js';
import { userHome } from './user-home.js';

/** Versions of Codex's memory. */
export type MemoryVersion = 'v1' | 'v2';

/** The memory folder of each version, in a home. */
export const ROOTS: Readonly<Record<MemoryVersion, string>> = { v1: 'memories', v2: 'memories_v2' };

/**
 * The version whose folder lies in a project's home; where there is none yet, the one that Codex would use for this
 * user. `prepareHome` makes the two agree.
 */
export function memoryVersion(place: HarnessPlace): MemoryVersion {
  const { home } = place;
  // In the order in which Codex looks.
  const there =
    home === undefined ? undefined : (['v1', 'v2'] as const).find((version) => isFolder(join(home, ROOTS[version])));
  return there ?? wantedVersion(place);
}

/**
 * The version that the settings of a home ask for, which are the user's unless it has its own; else 1 if the user's own home
 * has a memory of it, as Codex decides.
 */
export function wantedVersion({ env, home }: HarnessPlace): MemoryVersion {
  const user = userHome(env);
  const own = home === undefined ? undefined : configuredVersion(home);
  return own ?? configuredVersion(user) ?? (isFolder(join(user, ROOTS.v1)) ? 'v1' : 'v2');
}

function configuredVersion(home: string): MemoryVersion | undefined {
  const { version } = memorySettings(home);
  return version === 'v1' || version === 'v2' ? version : undefined;
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    // A mount whose daemon is gone is there, and so is what lies behind a folder that one may not enter.
    if (isSystemError(error, 'ENOTCONN')) return true;
    if (isSystemError(error)) return false;
    throw error;
  }
}
