import { MendError } from '../errors.js';
import type { ProcessInfo } from '../ports/process.js';
import type { NamedSession, SessionProcess } from '../store/named-sessions.js';
import { makeScratch } from '../store/scratch-folder.js';
import type { Store } from '../store/store.js';
import type { BeginSessionRequest } from './control-protocol.js';
import { bootId, processSpace } from './process-space.js';
import { processTree } from './process-tree.js';
import { procProcesses } from './processes.js';

/** Runs of mend within each other from which on it is taken for a program that starts itself for ever. */
const NESTED = 8;

type Caller = ProcessInfo & { readonly start: number };

/**
 * Registers the processes of sessions that `mend run` starts. Who asks is known from the kernel (`SO_PEERCRED`, /proc), and
 * can speak for itself and its children alone.
 */
export class SessionRegister {
  readonly #store: Store;
  readonly #changed: () => Promise<void>;
  readonly #space = processSpace();

  /** @param changed has the thread that serves, and the other daemons, look at the tables again */
  constructor(store: Store, changed: () => Promise<void>) {
    this.#store = store;
    this.#changed = changed;
  }

  /** @throws {MendError} when the session is another harness's or project's, or runs already. */
  async begin(peer: number, request: BeginSessionRequest): Promise<void> {
    const caller = callerOf(peer);
    this.#store.write(() => this.#begin(caller, request), true);
    await this.#changed();
  }

  #begin(caller: Caller, { name, chosen, harness, project }: BeginSessionRequest): void {
    const { named } = this.#store.sessions;
    named.forgetOtherBoots(bootId());
    const processes = this.#living();
    const around = ancestors(caller).flatMap(({ pid }) => processes.find((one) => one.pid === pid) ?? []);
    if (around.filter(({ role }) => role === 'runner').length >= NESTED)
      throw new MendError(
        'mend run starts itself again and again: set "programs" in the settings to the program that it is to start',
      );
    const known = named.find(name);
    if (known) refuseOther(this.#store, known, harness, project);
    const isWithin = around.some(({ shared }) => shared);
    if (known && known.shared === null && isWithin)
      throw new MendError(
        `session "${name}" is not shared, and this is started within one that is: choose another name`,
      );
    const runs = processes.find(({ id, pid, role }) => id === known?.id && role !== 'left' && pid !== caller.pid);
    if (runs)
      throw new MendError(`session "${name}" runs already (process ${runs.pid}): end that, or choose another name`);
    const now = this.#store.now;
    const id = known?.id ?? this.#make(name, harness, project, around[0]?.id);
    // Several people steer whoever starts it.
    if (isWithin) {
      named.share(id, now);
      makeScratch(this.#store.folder, id);
    }
    named.touch(id, now);
    if (chosen) named.choose(id);
    named.addProcess(this.#space, caller, id, 'runner');
  }

  #make(name: string, harness: string, project: number, within: number | undefined): number {
    const { now, sessions } = this.#store;
    const id = this.#store.newId();
    sessions.insert(id, `named/${id}`, name, now);
    sessions.named.insert({ id, name, harness, project, began: now }, within);
    return id;
  }

  /** @throws {MendError} when the process is no child of who asks. */
  async join(peer: number, pid: number): Promise<void> {
    const caller = callerOf(peer);
    const child = procProcesses.info(pid);
    if (child?.parent !== caller.pid) throw new MendError(`process ${pid} is no child of process ${peer}`);
    // A program that is just being started is asked again; in the meantime it is found by its parent.
    const { start } = child;
    if (start === undefined) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      return this.join(peer, pid);
    }
    const session = this.#sessionOf(caller);
    if (session === undefined) return;
    this.#store.write(
      () => this.#store.sessions.named.addProcess(this.#space, { pid, start }, session, 'program'),
      true,
    );
    await this.#changed();
  }

  /**
   * What a program left running belongs to its session for good.
   * @param ours processes that serve, which are nobody's even where this `mend run` started them
   */
  async leave(peer: number, ours: readonly number[]): Promise<void> {
    const caller = callerOf(peer);
    const session = this.#sessionOf(caller);
    if (session === undefined) return;
    const left = processTree([caller.pid], ours).filter(({ pid }) => pid !== caller.pid);
    const { named } = this.#store.sessions;
    this.#store.write(() => {
      const before = this.#living();
      for (const { pid } of before.filter(({ id, role }) => id === session && role !== 'left'))
        named.removeProcess(this.#space, pid);
      for (const one of left)
        if (!before.some(({ pid, id }) => pid === one.pid && id !== session))
          named.addProcess(this.#space, one, session, 'left');
      named.touch(session, this.#store.now);
    }, true);
    await this.#changed();
  }

  #sessionOf(caller: Caller): number | undefined {
    return this.#living().find(({ pid, role }) => pid === caller.pid && role === 'runner')?.id;
  }

  /** The registered processes that are still there. */
  #living(): SessionProcess[] {
    return livingProcesses(this.#store, this.#space);
  }
}

/** How long, in ms, to wait until a program has been started. */
const PAUSE = 5;

/** The registered processes of a space that are still there; forgets the others where it may write. */
export function livingProcesses(store: Store, space: string): SessionProcess[] {
  return store.sessions.named.processes(space).filter(({ pid, start }) => {
    const info = procProcesses.info(pid);
    // What ends may still close files, and is of its session until it is gone.
    if (info && (info.start ?? start) === start) return procProcesses.end(pid)?.exiting !== true;
    if (store.db.inTransaction) store.sessions.named.removeProcess(space, pid);
    return false;
  });
}

/**
 * @param project a row id; undefined for one that is yet to be made
 * @throws {MendError} when a session is another harness's or project's.
 */
export function refuseOther(store: Store, known: NamedSession, harness: string, project: number | undefined): void {
  const { name } = known;
  if (known.harness !== harness)
    throw new MendError(`session "${name}" is one of ${known.harness}: choose another name, or end it first`);
  if (known.project === project) return;
  const owner = store.projects.list(store.machine).find(({ id }) => id === known.project);
  throw new MendError(
    `session "${name}" is one of project "${owner?.name ?? ''}": choose another name, or end it first`,
  );
}

function callerOf(peer: number): Caller {
  const info = peer > 0 ? procProcesses.info(peer) : undefined;
  if (info?.start === undefined)
    throw new MendError('the daemon cannot see the process that asks: run mend where the daemon was started');
  return { ...info, start: info.start };
}

/** A process, its parent, and so on. */
function ancestors(of: ProcessInfo): ProcessInfo[] {
  const chain: ProcessInfo[] = [];
  for (let info: ProcessInfo | undefined = of; info && info.pid > 1; info = procProcesses.info(info.parent))
    chain.push(info);
  return chain;
}
