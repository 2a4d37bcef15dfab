import { existsSync, rmSync } from 'node:fs';
import { describeError, log } from '../log.js';
import type { Limits } from '../ports/limits.js';
import type { SharedSession } from '../store/named-sessions.js';
import { removeScratch, scratchFolder, scratchJournal } from '../store/scratch-folder.js';
import type { Store } from '../store/store.js';
import type { DividedOperations } from '../tree/divided-operations.js';
import type { Scratch, Sharing } from '../tree/sharing.js';
import type { Announcement, Tree, TreeServices } from '../tree/tree.js';
import type { View } from '../tree/view.js';
import { withdraw } from '../tree/withdrawing.js';
import { attempt } from './attempt.js';
import type { ServerData } from './messages.js';
import { procProcesses } from './processes.js';
import { ownerIsAlive, runtimeFiles } from './runtime-files.js';
import { type ScratchMount, ScratchSpace } from './scratch-space.js';

/** How often, in ticks, contents of scratches that nothing leads to are deleted. */
const SWEEP = 60;

/** A mount whose operations are divided between memory and scratches. */
export type DividedMount = ScratchMount & { readonly operations: DividedOperations };

interface Withdrawn {
  readonly tree: Tree;
  readonly names: Announcement['names'];
}

/** The sessions that several people steer, as the serving thread knows them, and what they see in the place of memory. */
export class SharedSessions implements Sharing {
  isActive = false;
  readonly #store: Store;
  readonly #data: ServerData;
  readonly #services: TreeServices;
  readonly #limits: Limits;
  readonly #space: string;
  readonly #mounts: () => Iterable<DividedMount>;
  #sessions: ReadonlyMap<string, SharedSession> = new Map();
  readonly #spaces = new Map<string, ScratchSpace>();
  /** Resolves when the kernels were told of every session that became a shared one so far. */
  #told: Promise<unknown> = Promise.resolve();
  #ticks = 0;
  /** What was taken from shared sessions, of which the kernels are to be told. */
  readonly #withdrawn: Withdrawn[] = [];
  #hasBegun = false;

  /** @param mounts those that are served now */
  constructor(
    store: Store,
    data: ServerData,
    services: TreeServices,
    space: string,
    mounts: () => Iterable<DividedMount>,
  ) {
    this.#store = store;
    this.#data = data;
    this.#services = services;
    this.#limits = data.limits;
    this.#space = space;
    this.#mounts = mounts;
  }

  get isKnown(): boolean {
    return this.#sessions.size > 0;
  }

  isShared(session: string): boolean {
    return this.#sessions.has(session);
  }

  scratchOf(view: View, session: string): Scratch | undefined {
    const shared = this.#sessions.get(session);
    if (!shared) return undefined;
    const space = this.#spaceOf(shared);
    const known = space.find(view);
    if (known) return known;
    for (const mounted of this.#mounts()) if (mounted.view === view) return space.scratchOf(mounted);
    throw Object.assign(new Error('the mount is not served'), { code: 'ESTALE' });
  }

  scratchAt(view: View, slot: number): Scratch | undefined {
    for (const space of this.#spaces.values()) if (space.session.slot === slot) return space.find(view);
    return undefined;
  }

  *scratches(view: View): Iterable<Scratch> {
    for (const space of this.#spaces.values()) {
      const scratch = space.find(view);
      if (scratch) yield scratch;
    }
  }

  /**
   * Looks at the tables again. From when this returns, a session that is shared now sees nothing of memory that has to be
   * asked for; `told` resolves when the kernels do ask.
   */
  refresh(): void {
    const before = this.#sessions;
    const wasActive = this.isActive;
    const now = this.#store.sessions.named.shared();
    if (now.length > 0 || before.size > 0) this.#sessions = new Map(now.map((one) => [one.key, one]));
    this.isActive = now.length > 0 && this.#isRunning(now);
    const isNews = now.some(({ key }) => !before.has(key)) || (this.isActive && !wasActive);
    if (isNews) this.#divide();
    this.#begin(now);
    for (const [key, space] of this.#spaces) if (!this.#sessions.has(key)) this.#end(key, space);
  }

  /** What an earlier daemon noted of open files, which ended with it, is not to be taken for that of this one. */
  #begin(sessions: readonly SharedSession[]): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { folder, owner, takesOver } = this.#data;
    if (takesOver) return;
    for (const { id } of sessions) rmSync(scratchJournal(folder, id, owner), { force: true });
  }

  /** Resolves when nothing of memory that a shared session sees comes from a kernel's cache. */
  async told(): Promise<void> {
    await this.#told;
    await Promise.all([...this.#spaces.values()].map((space) => space.catchUp()));
  }

  /** Goes on where a process died or left: before anything is served, shared sessions are apart. */
  resume(mounts: readonly DividedMount[]): void {
    if (this.isKnown) this.#withdraw(mounts);
    for (const shared of this.#sessions.values())
      if (existsSync(scratchFolder(this.#data.folder, shared.id))) this.#spaceOf(shared).resume(mounts);
  }

  /** What unsettled requests have come to is known by now. */
  settle(): void {
    for (const space of this.#spaces.values()) space.settle();
  }

  /** A mount is served: its kernel can be told of what changes in scratches. */
  connect(mounted: Pick<DividedMount, 'view' | 'cache'>): void {
    for (const space of this.#spaces.values()) space.connect(mounted);
  }

  leave(view: View): void {
    for (const space of this.#spaces.values()) space.leave(view);
  }

  flushJournals(): void {
    for (const space of this.#spaces.values()) space.flushJournal();
  }

  tick(): void {
    const sweeps = ++this.#ticks % SWEEP === 0;
    for (const space of this.#spaces.values())
      attempt('a shared session could not be looked after', () => {
        space.tick();
        if (sweeps) space.sweep();
      });
  }

  rest(): void {
    for (const space of this.#spaces.values()) space.rest();
  }

  close(): void {
    for (const space of this.#spaces.values()) space.close();
    this.#spaces.clear();
  }

  #isRunning(sessions: readonly SharedSession[]): boolean {
    const { named } = this.#store.sessions;
    const isThere = ({ pid, start }: { pid: number; start: number }): boolean => {
      const info = procProcesses.info(pid);
      return info !== undefined && (info.start ?? start) === start;
    };
    return (
      named.processes(this.#space).some((one) => one.shared && isThere(one)) ||
      sessions.some(({ id }) => named.runsElsewhere(id, this.#space))
    );
  }

  /** After a takeover: the process that died may not have come to tell the kernels. */
  expire(): void {
    if (this.isKnown) this.#divide();
  }

  /** Takes what is unsaved from shared sessions, and has the kernels ask for everything. */
  #divide(): void {
    this.#withdraw(this.#mounts());
    const news = this.#withdrawn.splice(0);
    const telling = [...this.#mounts()].map(({ view, cache }) =>
      cache.expireAll(
        view,
        news.flatMap((one) => (one.tree === view.tree ? one.names : [])),
      ),
    );
    this.#told = Promise.all([this.#told, ...telling]).catch((error: unknown) =>
      log('error', 'kernels were not told that a session is shared', { error: describeError(error) }),
    );
  }

  #withdraw(mounts: Iterable<DividedMount>): void {
    for (const { view, operations, cache } of mounts) {
      cache.hasAliases = true;
      operations.haunt();
      const { names } = withdraw(view, (key) => this.isShared(key));
      if (names.length > 0) this.#withdrawn.push({ tree: view.tree, names });
    }
  }

  #spaceOf(shared: SharedSession): ScratchSpace {
    const known = this.#spaces.get(shared.key);
    if (known) return known;
    const files = runtimeFiles(this.#data.folder);
    const isServed = (owner: string): boolean => ownerIsAlive(files, owner);
    const space = new ScratchSpace(shared, this.#data, this.#services, this.#limits, isServed);
    this.#spaces.set(shared.key, space);
    return space;
  }

  /** A session was ended: what it wrote is thrown away. */
  #end(key: string, space: ScratchSpace): void {
    this.#spaces.delete(key);
    attempt('what a shared session wrote was not let go', () => space.close());
    attempt('what a shared session wrote was not removed', () => removeScratch(this.#data.folder, space.session.id));
  }
}
