import { connectControl } from '../../daemon/control-client.js';
import { type DaemonStatus, statusRequest } from '../../daemon/control-protocol.js';
import { MOUNT_TYPE } from '../../daemon/mount-point.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { type Settings, usableSettings } from '../../daemon/settings.js';
import { signOfLife } from '../../daemon/sign-of-life.js';
import { MendError } from '../../errors.js';
import { discoverRepository, type Repository } from '../../project/repository.js';
import { storeFolder, storeFolderExists } from '../../store/location.js';
import { currentFolder } from '../context.js';
import { type HarnessChoice, mountedHarnesses, usedHarnesses } from '../harness-choice.js';
import { type MountEntry, mountEntries, mountReached, ownMounts } from './mount-entries.js';

/** What the checks look at; gathered once. */
export interface Examined {
  readonly env: NodeJS.ProcessEnv;
  readonly uid: number;
  /** The store's folder; undefined when the environment names none that could be. */
  readonly folder: string | undefined;
  /** False when the folder is in a mount that does not answer: it must not be touched. */
  readonly folderAnswers: boolean;
  /** The settings, or what they are by themselves where the file cannot be used. */
  readonly settings: Settings;
  /** The harnesses that a project's memory is mounted for. */
  readonly harnesses: HarnessChoice;
  readonly mounts: readonly MountEntry[];
  /** What mend's mounts say to being asked, by mount point. */
  readonly life: ReadonlyMap<string, 'answers' | 'dead' | 'silent'>;
  /** Undefined when none runs. */
  readonly daemon: DaemonStatus | 'silent' | undefined;
  /** The repository of the current folder, or why there is none to look at. */
  readonly repository: Repository | MendError;
}

export async function examine(): Promise<Examined> {
  const env = process.env;
  const uid = process.getuid?.() ?? 0;
  const folder = attempt(() => storeFolder(env, uid));
  const settings = usableSettings(env);
  const harnesses = attempt(() => mountedHarnesses(undefined)) ?? usedHarnesses;
  const mounts = mountEntries();
  const ours = ownMounts(mounts, uid).map(({ path }) => path);
  const life = new Map(await Promise.all(ours.map(async (path) => [path, await signOfLife(path)] as const)));
  const folderAnswers = folder !== undefined && (await answers(mounts, folder));
  const daemon = folder !== undefined && folderAnswers ? await daemonOf(folder) : undefined;
  const repository = await ownRepository(mounts);
  return { env, uid, folder, folderAnswers, settings, harnesses, mounts, life, daemon, repository };
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof MendError) return undefined;
    throw error;
  }
}

/** True unless a path lies in a mount of another process or machine that gives no sign of life. */
async function answers(mounts: readonly MountEntry[], path: string): Promise<boolean> {
  const mount = mountReached(mounts, path);
  if (!mount || !/^(fuse|nfs|cifs|smb|9p|ceph|afs)/.test(mount.type)) return true;
  return (await signOfLife(mount.path)) === 'answers';
}

/** Longest wait, in ms, for a daemon's answer. */
const PATIENCE = 5000;

/** Asks the daemon of a store in this mount namespace. */
async function daemonOf(folder: string): Promise<Examined['daemon']> {
  if (!attempt(() => storeFolderExists(folder))) return undefined;
  const files = runtimeFiles(folder);
  const client = await connectControl(files.folder, files.socket);
  if (!client) return undefined;
  try {
    const silent = new Promise<'silent'>((resolve) => setTimeout(() => resolve('silent'), PATIENCE).unref());
    const gone = client.closed.then(() => undefined);
    return await Promise.race([client.rpc.sendRequest(statusRequest), gone, silent]);
  } finally {
    client.close();
  }
}

async function ownRepository(mounts: readonly MountEntry[]): Promise<Repository | MendError> {
  try {
    const here = currentFolder();
    if (mountReached(mounts, here)?.type === MOUNT_TYPE)
      throw new MendError(
        'you are in a mounted memory folder: run "mend doctor" in a checkout to have it looked at, too',
      );
    return await discoverRepository(here);
  } catch (error) {
    if (error instanceof MendError) return error;
    throw error;
  }
}
