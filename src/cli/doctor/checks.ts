import { storeExists } from '../../store/location.js';
import type { Store } from '../../store/store.js';
import { withCopyOfStore } from '../copy-of-store.js';
import { checkAgentHomes } from './agent-homes.js';
import { checkHome, checkVariables } from './environment.js';
import type { Examined } from './examined.js';
import { type Finding, problemOf, type Result } from './finding.js';
import * as folders from './folders.js';
import { checkDevice, checkHelper } from './fuse.js';
import { checkInterrupted, checkLimits, checkMemory } from './memory.js';
import { checkDaemon, checkMounts, checkPlaces, checkRefused } from './mounts.js';
import { checkGit, checkKernel, checkNative, checkNode } from './program.js';
import { checkCheckouts, checkIdentity, checkRepository } from './projects.js';
import { checkSettings } from './settings.js';
import { checkSkipped } from './skipped.js';
import { checkIntegrity, checkSchema } from './store-contents.js';
import { checkBackups, checkFileSystem, checkFolder, checkLeftovers, checkSpace } from './store-files.js';

type Check = readonly [name: string, look: () => readonly Result[] | Promise<readonly Result[]>];

/** Runs every check in the order in which a fault of one explains those of later ones. */
export async function runChecks(examined: Examined): Promise<Finding[]> {
  const findings = await run([
    ['home', () => checkHome(examined)],
    ['variables', () => checkVariables(examined)],
    ['settings', () => checkSettings(examined)],
    ['node', () => checkNode()],
    ['native', () => checkNative()],
    ['git', () => checkGit()],
    ['kernel', () => checkKernel(examined)],
    ['fuse-device', () => checkDevice()],
    ['fusermount', () => checkHelper(examined)],
    ['store-files', () => checkFolder(examined)],
    ['store-disk', () => checkFileSystem(examined)],
    ['disk-space', () => checkSpace(examined)],
    ['backups', () => checkBackups(examined)],
    ['leftovers', () => checkLeftovers(examined)],
    ['daemon', () => checkDaemon(examined)],
    ['mounts', () => checkMounts(examined)],
    ['refused', () => checkRefused(examined)],
    ['repository', () => checkRepository(examined)],
  ]);
  const usable = findings.every(({ check, status }) => check !== 'store-files' || status === 'ok');
  const { folder } = examined;
  if (!usable || folder === undefined || !storeExists(folder)) return [...findings, ...(await withoutStore(examined))];
  try {
    await withCopyOfStore(false, async (store) => {
      findings.push(...(await withStore(examined, folder, store)));
    });
  } catch (error) {
    findings.push({ check: 'store', ...problemOf(error) }, ...(await withoutStore(examined)));
  }
  return findings;
}

/** What can be checked on folders alone. */
function withoutStore(examined: Examined): Promise<Finding[]> {
  const places = folders.memoryPlaces(examined, undefined);
  return run([
    ['memory-folders', () => folders.checkMemoryFolders(examined, places)],
    ['agent-homes', () => checkAgentHomes(examined, undefined)],
    ['unmounted', () => folders.checkUnmounted(examined, places, undefined)],
    ['skipped', () => checkSkipped(examined, places)],
    ['temporary-files', () => folders.checkTemporaries(places)],
  ]);
}

/** @param store a copy: nothing of this is written anywhere */
function withStore(examined: Examined, folder: string, store: Store): Promise<Finding[]> {
  const places = folders.memoryPlaces(examined, store);
  return run([
    ['store-schema', () => checkSchema(folder)],
    ['store', () => checkIntegrity(store.db)],
    ['checkouts', () => checkCheckouts(store)],
    ['identity', () => checkIdentity(examined, store)],
    ['memory-folders', () => folders.checkMemoryFolders(examined, places)],
    ['shared-folders', () => folders.checkSharedFolders(places, store)],
    ['agent-homes', () => checkAgentHomes(examined, store)],
    ['places', () => checkPlaces(examined, store)],
    ['unmounted', () => folders.checkUnmounted(examined, places, store)],
    ['skipped', () => checkSkipped(examined, places)],
    ['temporary-files', () => folders.checkTemporaries(places)],
    ['limits', () => checkLimits(examined, store)],
    ['memory', () => checkMemory(examined, store)],
    ['interrupted', () => checkInterrupted(examined, store)],
  ]);
}

async function run(checks: readonly Check[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [check, look] of checks) {
    try {
      findings.push(...(await look()).map((result) => ({ check, ...result })));
    } catch (error) {
      findings.push({ check, ...problemOf(error) });
    }
  }
  return findings;
}
