import { statusRequest } from '../daemon/control-protocol.js';
import { askDaemon } from '../daemon/launch.js';
import { processSpace } from '../daemon/process-space.js';
import { processTree } from '../daemon/process-tree.js';
import { livingProcesses, refuseOther } from '../daemon/session-register.js';
import { MendError } from '../errors.js';
import { findProject, projectByName } from '../project/resolve.js';
import type { NamedSession } from '../store/named-sessions.js';
import type { Store } from '../store/store.js';
import { hasStore, ownStoreFolder, repositoryOf, withStore } from './context.js';
import { isoTime, localTime } from './output.js';

/** What commands say of a session. */
export interface SessionEntry {
  /** Row id of the session. */
  readonly id: number;
  readonly session: string;
  readonly harness: string;
  readonly project: string;
  readonly began: number;
  /** When a program of it was last started, or ended. */
  readonly last: number;
  readonly ended: number | null;
  /** Since when several people steer it; null when that was never said. */
  readonly shared: number | null;
  /** Whether its program runs. */
  readonly running: boolean;
  /** Ids of its processes that are there now, as seen from here. */
  readonly processes: readonly number[];
}

/** The processes that serve: they are nobody's, also where `mend run` started them. */
export async function servingProcesses(): Promise<number[]> {
  const status = await askDaemon(ownStoreFolder(), (rpc) => rpc.sendRequest(statusRequest));
  return [status?.pid, status?.supervisor_pid].filter((pid) => typeof pid === 'number');
}

/**
 * Sessions with the processes that they have now.
 * @param serving what `servingProcesses` gave
 */
export function entriesOf(store: Store, sessions: readonly NamedSession[], serving: readonly number[]): SessionEntry[] {
  const names = new Map(store.projects.list(store.machine).map(({ id, name }) => [id, name]));
  const living = livingProcesses(store, processSpace());
  return sessions.map(({ id, name, project, ...session }) => {
    const own = living.filter((one) => one.id === id);
    // A run within this one is a session of its own.
    const others = [...serving, ...living.filter((one) => one.id !== id).map(({ pid }) => pid)];
    const roots = own.map(({ pid }) => pid);
    const processes = roots.length === 0 ? [] : processTree(roots, others).map(({ pid }) => pid);
    return {
      ...{ id, shared: session.shared, session: name, harness: session.harness, project: names.get(project) ?? '' },
      ...{ began: session.began, last: session.last, ended: session.ended },
      ...{ running: own.some(({ role }) => role !== 'left'), processes: [...new Set(processes)].sort((a, b) => a - b) },
    };
  });
}

/** @throws {MendError} when no session has, or had, the name. */
export function sessionByName(store: Store, name: string): NamedSession {
  const session = store.sessions.named.latest(name);
  if (session) return session;
  throw new MendError(`there is no session "${name}": "mend session list --all" names those that there are`);
}

/**
 * Refuses, before anything is made, to go on with a session that the daemon would refuse.
 * @param given the project that was named
 * @throws {MendError} when it is another harness's or project's.
 */
export async function refuseOthersSession(name: string, harness: string, given: string | undefined): Promise<void> {
  if (!hasStore()) return;
  await withStore(false, async (store) => {
    const known = store.sessions.named.find(name);
    if (!known) return;
    const { projects, machine } = store;
    const project =
      given === undefined ? findProject(projects, await repositoryOf(), machine) : projectByName(projects, given);
    refuseOther(store, known, harness, project?.id);
  });
}

/** An entry for `--json`. */
export function sessionDocument({ began, last, ended, shared, ...entry }: SessionEntry) {
  const { session, harness, project, running, processes } = entry;
  return {
    ...{ session, harness, project, began: isoTime(began), last: isoTime(last) },
    ...{ ended: ended === null ? null : isoTime(ended), running, processes },
    shared: shared === null ? null : isoTime(shared),
  };
}

/** How a session is, in a few words. */
export function stateOf({ running, processes, ended, shared }: SessionEntry): string {
  if (ended !== null) return `ended ${localTime(ended)}`;
  const now = running ? 'running' : processes.length > 0 ? 'left programs running' : 'not running';
  return shared === null ? now : `${now}, shared`;
}
