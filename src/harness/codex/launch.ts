import type { HarnessEnvironment, HarnessPlace } from '../adapter.js';
import { memoryVersion } from './memory-version.js';

/** Variables that have Codex use the project's home, for its databases too. */
export function codexEnvironment({ home }: HarnessPlace): HarnessEnvironment {
  return home === undefined ? {} : { CODEX_HOME: home, CODEX_SQLITE_HOME: home };
}

/**
 * What turns the memory feature on for one run. The version is said, since Codex would make the folder of another one that
 * the user's settings name meanwhile, and the folder of the databases, since a setting of it overrules the variable. No server
 * is started in the background: it would not know of the feature, and would outlive the session.
 */
export function codexArguments(place: HarnessPlace, given: readonly string[]): readonly string[] {
  const { home } = place;
  if (home === undefined) return given;
  const settings = [
    'features.memories=true',
    `memories.version=${JSON.stringify(memoryVersion(place))}`,
    `sqlite_home=${JSON.stringify(home)}`,
    'features.daemon_auto_start=false',
  ];
  return [...settings.flatMap((setting) => ['-c', setting]), ...given];
}
