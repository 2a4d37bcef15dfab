import { lstatSync } from 'node:fs';
import { readSettings } from '../daemon/settings.js';
import { isSystemError, MendError } from '../errors.js';
import type { MemoryHarness } from '../harness/adapter.js';
import { memoryHarness, memoryHarnesses, withArchive } from '../harness/registry.js';
import { MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import { harnessEnvironment } from './context.js';

/**
 * The harnesses that a command is about, for a project: the one named, else those that the settings have, else those that the
 * person uses.
 * @param store undefined when there is none yet
 * @param project a row id; undefined for one that is yet to be made
 */
export type HarnessChoice = (store: Store | undefined, project: number | undefined) => readonly MemoryHarness[];

/** @throws {MendError} (usage) for a name that no harness with memory has. */
export function chosenHarnesses(name: string | undefined): HarnessChoice {
  if (name !== undefined) return always([memoryHarness(name)]);
  const { harnesses } = readSettings(process.env);
  return harnesses ? always(harnesses.map(memoryHarness)) : usedHarnesses;
}

/**
 * The harnesses whose memory `mend mount` mounts for a project. One with a home for each project is mounted when it is started,
 * unless it is named.
 * @throws {MendError} (usage) for a name that no harness with memory has.
 */
export function mountedHarnesses(name: string | undefined): HarnessChoice {
  // The daemon would refuse them, too, but only when it has been started.
  readSettings(process.env);
  const choose = chosenHarnesses(name);
  if (choose !== usedHarnesses) return choose;
  return (store, project) => usedHarnesses(store, project).filter(({ homePerProject }) => !homePerProject);
}

/** A harness that is started, with the notes that any agent may keep, where the person uses them. */
export function startedHarnesses(harness: MemoryHarness): HarnessChoice {
  readSettings(process.env);
  return (store, project) => [
    ...withArchive(harness),
    ...usedHarnesses(store, project).filter((one) => one.launch.programs.length === 0 && one !== harness),
  ];
}

function always(harnesses: readonly MemoryHarness[]): HarnessChoice {
  const all = [...new Set(harnesses.flatMap(withArchive))];
  return () => all;
}

/**
 * The harnesses that the person uses, or that the project has memory of: it may come from another machine. A harness that
 * nobody uses here is not to be seen anywhere.
 */
export const usedHarnesses: HarnessChoice = (store, project) => {
  const isKnown = ({ name }: MemoryHarness): boolean => {
    const tree = project === undefined ? undefined : store?.trees.find(project, name);
    return store !== undefined && tree !== undefined && new MemoryFiles(store, tree).list().length > 0;
  };
  const used = memoryHarnesses.filter((harness) => isInUse(harness) || isKnown(harness));
  return memoryHarnesses.filter((harness) =>
    used.some((one) => one === harness || one.archive === harness || harness.archive === one),
  );
};

/** False, too, where the environment does not tell. */
function isInUse({ signOfUse }: MemoryHarness): boolean {
  if (!signOfUse) return true;
  try {
    return lstatSync(signOfUse(harnessEnvironment()), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (isSystemError(error) || error instanceof MendError) return false;
    throw error;
  }
}
