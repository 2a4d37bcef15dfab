import type { MemoryHarness } from '../harness/adapter.js';
import { type PlainFolder, refuseForeignFolder } from '../project/folder-owner.js';
import type { Project } from '../store/projects.js';
import type { Store } from '../store/store.js';
import { memoryFolderOf } from './harness-place.js';

/** The variables that give a harness another folder. */
const SETTINGS: Readonly<Record<string, string>> = { claude: 'CLAUDE_CONFIG_DIR' };

/** The plain memory folder of a checkout, in the environment of this command; undefined when projects have homes of their own. */
export function plainFolder(harness: MemoryHarness, root: string): PlainFolder | undefined {
  const folderOf = (checkout: string): string | undefined => memoryFolderOf(harness, checkout, undefined);
  const path = folderOf(root);
  return path === undefined ? undefined : { harness: harness.name, path, folderOf };
}

/** The variable that gives a harness another folder; undefined when there is none. */
export function folderSetting(harness: string): string | undefined {
  return SETTINGS[harness];
}

/**
 * Refuses a memory folder that holds another project's memory.
 * @param own finds the project of the checkout, in the same snapshot of the store; undefined when it has none yet
 * @throws {MendError} that names both, and the commands that settle it
 */
export function refuseOtherProjectsFolder(
  store: Store,
  harness: MemoryHarness,
  root: string,
  own: () => Project | undefined,
): void {
  const folder = plainFolder(harness, root);
  if (folder === undefined) return;
  store.db.transaction(() => refuseForeignFolder(store, folder, root, own(), folderSetting(harness.name)))();
}
