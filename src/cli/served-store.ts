import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { connectServing } from '../daemon/control-client.js';
import { type DaemonStatus, statusRequest } from '../daemon/control-protocol.js';
import { isDead, MOUNT_TYPE, mountTable } from '../daemon/mount-point.js';
import { isLocked, knownOwners, type RuntimeFiles, runtimeFiles } from '../daemon/runtime-files.js';
import { isSystemError, MendError } from '../errors.js';
import { shellWords } from '../project/shell-word.js';
import { pageFaults } from '../store/check/pages.js';
import { openReadOnly } from '../store/read-only.js';
import { quoted } from './output.js';

/** Longest wait, in ms, for a daemon without mounts to end, and before it is looked for again. */
const PATIENCE = 15_000;
const PAUSE = 25;
/** Longest wait, in ms, for a daemon's answer. */
const ANSWER = 5000;

/**
 * Waits for daemons that have nothing mounted to end.
 * @throws {MendError} when one serves the store, or a mount of it was left by one that died.
 */
export async function refuseServed(folder: string): Promise<void> {
  const files = runtimeFiles(folder);
  for (const owner of knownOwners(files)) await refuseOwner(files, owner);
  for (const path of await deadMounts(folder))
    throw new MendError(
      `${quoted(path)} is still mounted, though its daemon is gone: run "mend unmount ${shellWords(path)}" first`,
    );
}

async function refuseOwner(files: RuntimeFiles, owner: string): Promise<void> {
  const client = await connectServing(files, owner);
  const where = owner === files.owner ? '' : ' in the container or mount namespace where it runs';
  const late = Symbol('late');
  const first =
    client &&
    (await Promise.race([client.rpc.sendRequest(statusRequest), client.closed, delay(ANSWER, late, { ref: false })]));
  client?.close();
  if (first === late)
    throw new MendError(`the daemon of the store does not answer: "mend doctor"${where} looks into it`);
  const [mount] = (first as DaemonStatus | undefined)?.mounts ?? [];
  if (mount)
    throw new MendError(`the store is served, on ${quoted(mount.path)}: run "mend unmount --all"${where} first`);
  for (const end = Date.now() + PATIENCE; isLocked(files, owner); await delay(PAUSE))
    if (Date.now() > end)
      throw new MendError(`a daemon has the store open and does not end: run "mend unmount --all"${where} first`);
}

/**
 * Mounts of the store that this process sees and that nobody serves any more. None where it is damaged: no command uses
 * it then, "mend unmount" included, until another store is in its place.
 */
async function deadMounts(folder: string): Promise<string[]> {
  let paths: readonly string[];
  try {
    const db = openReadOnly(folder);
    if (!db) return [];
    try {
      if (pageFaults(db, 'quick', 1).length > 0) return [];
      paths = db.prepare<[], string>('SELECT DISTINCT path FROM mount').pluck().all();
    } finally {
      db.close();
    }
  } catch (error) {
    if (error instanceof Database.SqliteError || isSystemError(error)) return [];
    throw error;
  }
  const table = mountTable();
  const mounted = paths.filter((path) => table.get(path) === MOUNT_TYPE);
  const dead = await Promise.all(mounted.map(isDead));
  return mounted.filter((_, i) => dead[i]);
}
