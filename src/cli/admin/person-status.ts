import { readdirSync } from 'node:fs';
import { MendError } from '../../errors.js';
import { findAccount } from '../people/account.js';
import { openSystemFolder } from '../people/system-folder.js';
import { mountsSeenBy, ownNamespace, type RunningDaemon, runningDaemons, type SeenMount } from './daemons.js';
import { type DamagedRecord, listPeople, type PersonRecord, refuseOtherPerson } from './people.js';
import { storeFolderOf } from './store-folder.js';
import { lookAtStore } from './store-looks.js';

/** How a person fares, as far as that can be seen without their memory. */
export interface PersonStatus {
  readonly user: string | null;
  readonly uid: number;
  readonly enabled: boolean;
  readonly pid: number | null;
  readonly supervisor_pid: number | null;
  readonly mounts: readonly string[];
  readonly store: { readonly path: string; readonly bytes: number | null; readonly free: number | null };
  readonly faults: readonly string[];
}

/**
 * Everybody who is or was enabled, has a folder for a store in the system's, or a daemon that runs; somebody with several
 * stores in use counts once for each.
 */
export async function peopleStatus(): Promise<PersonStatus[]> {
  const { people, damaged } = listPeople();
  const records = new Map([...damaged, ...people].map((record) => [record.uid, record]));
  const folders = new Set(foldersOfStores());
  const daemons = runningDaemons();
  const mounts = allMounts(daemons);
  const uids = new Set([...records.keys(), ...folders, ...daemons.map(({ uid }) => uid)]);
  const found: PersonStatus[] = [];
  for (const uid of [...uids].sort((a, b) => a - b)) {
    const own = { daemons: daemons.filter((one) => one.uid === uid), mounts: mounts.filter((one) => one.uid === uid) };
    found.push(...(await statusOf(uid, records.get(uid), folders.has(uid), own)));
  }
  return found;
}

/** Numbers of the users for whom a folder was made, whoever owns it now. */
function foldersOfStores(): number[] {
  const system = openSystemFolder(false);
  try {
    return system ? readdirSync(system.at()).flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : [])) : [];
  } finally {
    system?.close();
  }
}

/** Those in this mount namespace, and in those of the daemons. */
function allMounts(daemons: readonly RunningDaemon[]): SeenMount[] {
  const seen = new Map(mountsSeenBy('self', ownNamespace()).map((mount) => [mount.id, mount]));
  for (const { pid, namespace } of daemons) for (const mount of mountsSeenBy(pid, namespace)) seen.set(mount.id, mount);
  return [...seen.values()];
}

async function statusOf(
  uid: number,
  known: PersonRecord | DamagedRecord | undefined,
  isPrepared: boolean,
  own: { readonly daemons: readonly RunningDaemon[]; readonly mounts: readonly SeenMount[] },
): Promise<PersonStatus[]> {
  const account = await findAccount(String(uid));
  const record = known && 'name' in known ? known : undefined;
  const user = account?.name ?? record?.name ?? null;
  const faults = known && 'fault' in known ? [known.fault.message] : [];
  if (!account) faults.push(`there is no user ${uid} any more`);
  else faults.push(...faultOf(() => refuseOtherPerson(record, account)));
  const base = { user, uid, enabled: record?.enabled ?? false };
  const system = storeFolderOf(uid);
  const hasFolder = record?.enabled || isPrepared;
  const stores = new Set([...own.daemons.map(({ store }) => store), ...(hasFolder ? [system] : [])]);
  const found: PersonStatus[] = [];
  for (const path of stores.size > 0 ? stores : [system]) {
    const serving = own.daemons.filter(({ store }) => store === path);
    const namespaces = new Set(serving.map(({ namespace }) => namespace));
    const isElsewhere = path !== system && serving.every(({ namespace }) => namespace !== ownNamespace());
    const { faults: looks, ...sizes } = lookAtStore(path, uid, namespaces, isElsewhere, account?.home);
    const isFirst = found.length === 0;
    const [daemon] = serving;
    found.push({
      ...{ ...base, pid: daemon?.pid ?? null, supervisor_pid: daemon?.supervisor ?? null },
      // The kernel's table does not say which store a mount is of: they are told once.
      mounts: isFirst ? own.mounts.map((mount) => mount.path) : [],
      store: { path, ...sizes },
      faults: [...(isFirst ? [...faults, ...deadFaults(own)] : []), ...looks],
    });
  }
  return found;
}

function deadFaults({
  daemons,
  mounts,
}: {
  daemons: readonly RunningDaemon[];
  mounts: readonly SeenMount[];
}): string[] {
  const served = new Set(daemons.map(({ namespace }) => namespace));
  const isDead = mounts.some(({ id }) => !served.has(id.split(' ')[0] ?? ''));
  const isAlone = daemons.some(({ supervisor }) => supervisor === null);
  return [
    ...(isDead ? ['mounts have lost the daemon that served them'] : []),
    ...(isAlone ? ['the supervisor of the daemon was ended, so the mounts end with the process that serves'] : []),
  ];
}

function faultOf(look: () => void): string[] {
  try {
    look();
    return [];
  } catch (error) {
    if (error instanceof MendError) return [error.message];
    throw error;
  }
}
