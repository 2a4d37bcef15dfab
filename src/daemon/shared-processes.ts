import { MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import type { Store } from '../store/store.js';
import { bootId, processSpace } from './process-space.js';
import { processTree } from './process-tree.js';
import { livingProcesses } from './session-register.js';

/** How often, in ms, processes of shared sessions are looked for. */
const LOOK = 500;

/**
 * Registers by its own id every process that shared sessions have started: it stays in its session when it loses its parents.
 * @param without processes that serve, which are nobody's even where such a session started them
 * @returns how many were new
 */
export function pinProcesses(store: Store, space: string, without: readonly number[]): number {
  const { named } = store.sessions;
  const known = named.processes(space);
  const shared = new Set(named.shared().map(({ id }) => id));
  const roots = known.filter(({ id }) => shared.has(id));
  if (roots.length === 0) return 0;
  const taken = new Set(known.map(({ pid, start }) => `${pid} ${start}`));
  let added = 0;
  // Each session by itself: what a session within it has started belongs to that one.
  const found = [...shared].flatMap((session) => {
    const own = roots.filter(({ id }) => id === session).map(({ pid }) => pid);
    const others = [...without, ...known.filter(({ id }) => id !== session).map(({ pid }) => pid)];
    return processTree(own, others).map((process) => ({ session, process }));
  });
  const news = found.filter(({ process }) => !taken.has(`${process.pid} ${process.start}`));
  if (news.length === 0) return 0;
  store.write(() => {
    named.forgetOtherBoots(bootId());
    livingProcesses(store, space);
    const now = new Set(named.processes(space).map(({ pid }) => pid));
    for (const { session, process } of news) {
      // A run within it may have registered itself meanwhile.
      if (now.has(process.pid)) continue;
      named.addProcess(space, process, session, 'left');
      added++;
    }
  }, true);
  return added;
}

/**
 * Where nothing is mounted, memory lies in plain folders, which a shared session sees like anybody else.
 * @throws {MendError} when one has a process now
 */
export function refuseUnmount(store: Store): void {
  const found = livingProcesses(store, processSpace()).find(({ shared }) => shared);
  if (found)
    throw new MendError(
      `session "${found.session.name}" is shared and runs, and would see the memory that unmounting leaves in the plain folder: end its programs first, or use --force`,
    );
}

/** Keeps an eye on the processes of shared sessions, as long as there are any. */
export class SharedProcesses {
  readonly #timer: NodeJS.Timeout;

  /**
   * @param without asked for the processes that serve
   * @param changed has the thread that serves look at the tables again
   */
  constructor(store: Store, without: () => readonly number[], changed: () => Promise<void>) {
    const space = processSpace();
    this.#timer = setInterval(() => {
      try {
        if (store.sessions.named.shared().length === 0 || pinProcesses(store, space, without()) === 0) return;
        changed().catch((error: unknown) => warn(error));
      } catch (error) {
        warn(error);
      }
    }, LOOK);
    this.#timer.unref();
  }

  end(): void {
    clearInterval(this.#timer);
  }
}

function warn(error: unknown): void {
  log('warn', 'processes of shared sessions could not be looked for', { error: describeError(error) });
}
