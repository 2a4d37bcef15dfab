import { realPath } from '../daemon/mount-point.js';
import type { HarnessPlace, MemoryHarness } from '../harness/adapter.js';
import { projectHome } from '../store/location.js';
import { harnessEnvironment, ownStoreFolder } from './context.js';

/**
 * Where a harness started here would run for a checkout.
 * @param project row id of the checkout's project; undefined when it has none yet
 */
export function harnessPlace(harness: MemoryHarness, root: string, project: number | undefined): HarnessPlace {
  const uid = process.getuid?.() ?? 0;
  const home =
    project === undefined ? undefined : projectHome(process.env, uid, ownStoreFolder(), harness.name, project);
  return { root, env: harnessEnvironment(), home };
}

/** Real path of the memory folder of a checkout, with the environment of this command; undefined when there is none yet. */
export function memoryFolderOf(harness: MemoryHarness, root: string, project: number | undefined): string | undefined {
  const folder = harness.memoryFolder(harnessPlace(harness, root, project));
  return folder === undefined ? undefined : realPath(folder);
}
