import { join } from 'node:path';
import type { MemoryHarness } from './adapter.js';
import { homeFaults } from './codex/home-faults.js';
import { codexArguments, codexEnvironment } from './codex/launch.js';
import { memoryVersion, ROOTS } from './codex/memory-version.js';
import { prepareHome } from './codex/prepare-home.js';
import { userHome } from './codex/user-home.js';
import { executableName } from './executable.js';
import { isLeftBehind } from './left-behind.js';

/** Names of the program: as npm and Homebrew install it, and as a release for Linux is called. */
const PROGRAM = /^codex(?:-(?:x86_64|aarch64)-unknown-linux-(?:musl|gnu))?$/;

/**
 * What Codex keeps in the memory folder for itself: baselines of its Git comparison (`.git` is local for every harness),
 * the comparison, folders that its sandbox makes for each call, and shared memory of databases.
 */
const OWN_LOCAL = /(?:^|\/)(?:\.codex-baseline|\.agents|\.codex|\.aws|[^/]+-shm)(?:\/|$)|^phase2_workspace_diff\.md$/;

/** Databases of a Codex home that say which summaries there are. */
const SUMMARY_DATABASE = /^memories(?:_v2)?_\d+\.sqlite$/;

/**
 * Codex. Its memory covers every repository of a home, so each project gets a home of its own, with the login and the
 * settings of the user's linked into it.
 */
export const codex: MemoryHarness = {
  name: 'codex',
  title: 'Codex',
  keepsMemory: true,
  homePerProject: true,
  signOfUse: (env) => join(userHome(env), 'sessions'),
  memoryFolder: (place) => {
    // Says in words when the environment has no home to find the login and the settings in.
    userHome(place.env);
    return place.home === undefined ? undefined : join(place.home, ROOTS[memoryVersion(place)]);
  },
  launch: {
    programs: ['codex'],
    environment: codexEnvironment,
    args: codexArguments,
    prepare: prepareHome,
    faults: homeFaults,
  },
  isLocal: (path) => isLeftBehind(path) || OWN_LOCAL.test(path),
  // It writes its files in place.
  temporaryFor: () => undefined,
  memoryInCopy: (_root, has, names) => {
    if (names.some((name) => SUMMARY_DATABASE.test(name))) return '.';
    return has('.codex') ? '.codex' : undefined;
  },
  maintainedKeys: [],
  matchesProgram: (executable) => PROGRAM.test(executableName(executable)),
};
