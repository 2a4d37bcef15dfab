import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../daemon/settings.js';
import { MendError } from '../../errors.js';
import type { HarnessPlace, MemoryHarness } from '../../harness/adapter.js';
import { memoryHarnesses } from '../../harness/registry.js';
import { carriers } from '../../import/carrier.js';
import type { Store } from '../../store/store.js';
import { harnessPlace, placed } from '../harness-place.js';
import { quoted } from '../output.js';
import type { Examined } from './examined.js';
import { orOk, problem, type Result, warning } from './finding.js';
import { isFolder } from './folders.js';

/** The homes of agents can be used, have the user's settings, and what lies in them can be taken into the store. */
export function checkAgentHomes({ settings }: Examined, store: Store | undefined): readonly Result[] {
  return orOk(
    memoryHarnesses.flatMap((harness) => [
      ...launchFaults(harness, store),
      ...carriedFaults(harness, store, settings.codex),
    ]),
    'the homes of agents can be used',
  );
}

function launchFaults(harness: MemoryHarness, store: Store | undefined): Result[] {
  if (!harness.launch.faults) return [];
  try {
    const places = [harnessPlace(harness, '/', undefined), ...placesOf(harness, store)];
    return places.flatMap((place) =>
      (harness.launch.faults?.(place) ?? []).map(({ what, todo, minor }) => (minor ? warning : problem)(what, todo)),
    );
  } catch (error) {
    // What the environment lacks has a check of its own.
    if (error instanceof MendError) return [];
    throw error;
  }
}

function carriedFaults(harness: MemoryHarness, store: Store | undefined, limits: Settings['codex']): Result[] {
  const homes = placesOf(harness, store).flatMap(({ home }) => (home !== undefined && isFolder(home) ? [home] : []));
  return homes.flatMap((home) =>
    (carriers[harness.name]?.faults(home, limits) ?? []).map(({ path, reason }) => {
      const [what = reason, todo = 'the summaries in it are kept on this machine alone'] = reason.split(': ');
      return problem(`${quoted(join(home, path))} ${what}`, todo);
    }),
  );
}

/** The homes of projects that are there, or something in their place. */
function placesOf(harness: MemoryHarness, store: Store | undefined): HarnessPlace[] {
  if (!store || !harness.homePerProject) return [];
  return store.projects
    .list(store.machine)
    .map(({ id, paths }) => harnessPlace(harness, paths[0] ?? '/', placed(store, id)))
    .filter(({ home }) => home !== undefined && lstatSync(home, { throwIfNoEntry: false }) !== undefined);
}
