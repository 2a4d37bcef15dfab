import { lstatSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { isSystemError } from '../../errors.js';
import type { HarnessPlace } from '../adapter.js';
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
  const own = home === undefined ? undefined : configuredVersion(join(home, SETTINGS));
  return own ?? configuredVersion(join(user, SETTINGS)) ?? (isFolder(join(user, ROOTS.v1)) ? 'v1' : 'v2');
}

const SETTINGS = 'config.toml';

/** `memories.version` in a file of settings. A file that cannot be read or parsed is for Codex to complain of. */
function configuredVersion(file: string): MemoryVersion | undefined {
  try {
    // A pipe would keep whoever reads it waiting.
    if (!statSync(file).isFile()) return undefined;
    const { memories } = parse(readFileSync(file, 'utf8'));
    const version = typeof memories === 'object' && 'version' in memories ? memories['version'] : undefined;
    return version === 'v1' || version === 'v2' ? version : undefined;
  } catch {
    return undefined;
  }
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
