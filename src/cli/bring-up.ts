import { realpathSync } from 'node:fs';
import { isForPeople, type MountAnswer, mountRequest } from '../daemon/control-protocol.js';
import { askStartedDaemon } from '../daemon/launch.js';
import { checkFuse } from '../daemon/preflight.js';
import { MendError } from '../errors.js';
import type { HarnessEnvironment, HarnessPlace, MemoryHarness } from '../harness/adapter.js';
import { discoverRepository } from '../project/repository.js';
import { currentFolder, ownStoreFolder, withStore } from './context.js';
import { ExitStatus } from './exit-status.js';
import { startedHarnesses } from './harness-choice.js';
import { harnessPlace, placed } from './harness-place.js';
import { tellNotes } from './mount-all.js';
import { complainOnce } from './output.js';
import { daemonRuns, wantedMounts } from './wanted-mounts.js';

/** A harness that can be started: its memory is mounted. */
export interface Ready {
  readonly place: HarnessPlace;
  /** Row id and name of the project. */
  readonly project: { readonly id: number; readonly name: string };
  /** The mounted folder. */
  readonly memory: string;
  /** False when something is left to settle, which was said. */
  readonly isSettled: boolean;
  /** Where the program is to be started. */
  readonly cwd: string;
  /** What of its environment is to differ from that of this command; undefined is what must not be there. */
  readonly changes: HarnessEnvironment;
}

/**
 * Mounts a harness's memory of the project of this folder, or of the one named, as `mend mount --harness` does. Says nothing
 * where there is nothing to settle.
 * @throws {MendError} when the mount does not come up.
 */
export async function bringUp(harness: MemoryHarness, project: string | undefined): Promise<Ready> {
  const folder = ownStoreFolder();
  const running = await daemonRuns(folder);
  if (!running) checkFuse();
  const { wanted } = await wantedMounts(
    undefined,
    project === undefined ? {} : { project },
    startedHarnesses(harness),
    !running,
  );
  const [first, ...others] = wanted;
  if (!first) throw new MendError(`${harness.title} has no memory folder here: run "mend doctor"`);
  const answer: MountAnswer = await askStartedDaemon(folder, (rpc) => rpc.sendRequest(mountRequest, first.request));
  const say = complainOnce();
  first.faults.forEach(say);
  let isSettled = tellNotes(answer, first.given) === ExitStatus.done && first.faults.length === 0;
  for (const { request, given } of others) {
    try {
      const told = await askStartedDaemon(folder, (rpc) => rpc.sendRequest(mountRequest, request));
      if (tellNotes(told, given) !== ExitStatus.done) isSettled = false;
    } catch (error) {
      if (!isForPeople(error)) throw error;
      say(error.message);
      isSettled = false;
    }
  }
  const { project: id, checkout } = first.request;
  const { place, name } = await withStore(false, (store) => {
    const owner = placed(store, id);
    return { place: harnessPlace(harness, checkout, owner), name: owner?.project.name ?? '' };
  });
  const cwd = project === undefined ? currentFolder() : await folderIn(checkout);
  const own = harness.launch.environment?.(place) ?? {};
  // Shells keep this variable at the folder they are in.
  const moved = cwd === currentFolder() ? {} : { PWD: cwd };
  const changes = { ...moved, ...own };
  return {
    ...{ place, memory: answer.path, cwd, changes, isSettled },
    project: { id, name },
  };
}

/** The current folder where it belongs to a checkout, else the checkout. */
async function folderIn(checkout: string): Promise<string> {
  const here = currentFolder();
  try {
    return (await discoverRepository(here)).root === realpathSync(checkout) ? here : checkout;
  } catch (error) {
    if (error instanceof MendError) return checkout;
    throw error;
  }
}
