import { Channel, type ChannelEvents } from '../fuse/channel.js';
import { loadNative } from '../fuse/native.js';
import { memoryHarness } from '../harness/registry.js';
import { describeError, log } from '../log.js';
import type { Limits } from '../ports/limits.js';
import { Store } from '../store/store.js';
import { DividedOperations } from '../tree/divided-operations.js';
import { leave } from '../tree/leaving.js';
import { keepLeftovers, resume } from '../tree/resuming.js';
import type { TreeServices } from '../tree/tree.js';
import { View } from '../tree/view.js';
import { attempt } from './attempt.js';
import { ChannelCache } from './channel-cache.js';
import { giveBack } from './give-back.js';
import { mayDie } from './may-die.js';
import type {
  AttachRequest,
  KernelFeatures,
  ResumeRequest,
  ServerData,
  ServerMessage,
  ServerRequest,
} from './messages.js';
import { usageOf } from './mount-usage.js';
import { OpenTrees } from './open-trees.js';
import { PeerTelling } from './peer-telling.js';
import { processSpace } from './process-space.js';
import { Pulse } from './pulse.js';
import { rehearse } from './rehearsal.js';
import { SharedSessions } from './shared-sessions.js';
import { ThreadedMerger } from './threaded-merger.js';
import { forgetTold, noteTold, untold } from './told.js';
import { treeServices } from './tree-services.js';

/** How often, in ms, work that can wait is done: flushing the log to disk, times of folders, the feed of a silent writer. */
const TICK = 500;
/** How long, in ms, after a takeover everything has been sent again, and there is time for other things. */
const AFTER_TAKEOVER = 5000;
/** How long, in ms, a process that leaves waits for answers under way; its successor is asked for the others. */
const PATIENCE = 5000;

export interface Mounted {
  readonly request: AttachRequest;
  readonly view: View;
  readonly channel: Channel;
  readonly cache: ChannelCache;
  readonly operations: DividedOperations;
  /** Number in the feed up to which the kernel is noted to have been told of everything. */
  told: number;
}

/** The serving thread: owns the mounts and the store connection that serves them. */
export class MountServer {
  readonly #store: Store;
  readonly #services: TreeServices;
  readonly #merger = new ThreadedMerger();
  readonly #limits: Limits;
  readonly #trees: OpenTrees;
  readonly #shared: SharedSessions;
  readonly #mounts = new Map<number, Mounted>();
  readonly #send: (message: ServerMessage) => void;
  readonly #pulse: Pulse;
  readonly #peers: PeerTelling;
  readonly #space = processSpace();
  /** Somebody called since `#wasCalled` was asked last. */
  #called = false;

  constructor(data: ServerData, send: (message: ServerMessage) => void) {
    this.#send = send;
    this.#peers = new PeerTelling(send);
    this.#limits = data.limits;
    this.#store = new Store(data.folder, { create: false, owner: data.owner, machine: () => data.machine });
    this.#store.db.pragma('wal_autocheckpoint = 0');
    this.#store.log.reserve();
    this.#store.committed = mayDie;
    this.#services = treeServices(this.#store, data, {
      merger: this.#merger,
      tellPeers: () => this.#peers.tell(),
      hasPeers: () => this.#peers.count > 0,
    });
    this.#trees = new OpenTrees(this.#store, this.#services, this.#limits);
    this.#store.follow = (changes) => this.#trees.follow(changes);
    this.#shared = new SharedSessions(this.#store, data, this.#services, this.#space, () => this.#mounts.values());
    this.#lookAtSessions();
    this.#pulse = new Pulse(
      data.folder,
      TICK,
      () => this.#tick(),
      (rests) => this.#turned(rests),
    );
    setTimeout(() => this.#rehearse(data), data.takesOver ? AFTER_TAKEOVER : 0).unref();
  }

  /** Takes in which processes belong to which registered sessions, and which of these are shared. */
  #lookAtSessions(): void {
    this.#services.sessions.register(this.#store.sessions.named.processes(this.#space));
    this.#shared.refresh();
  }

  #rehearse({ folder, owner, machine }: ServerData): void {
    rehearse(folder, owner, machine, this.#services, this.#limits, () => this.#wasCalled()).catch((error: unknown) =>
      log('warn', 'rehearsal failed', { error: describeError(error) }),
    );
  }

  #wasCalled(): boolean {
    const called = this.#called;
    this.#called = false;
    return called;
  }

  async handle(request: Exclude<ServerRequest, { kind: 'start' }>): Promise<unknown> {
    // To look what is held is no reason to be awake.
    if (request.kind !== 'held') this.#pulse.stir();
    switch (request.kind) {
      case 'attach':
        return this.#attach(request.attach);
      case 'resume':
        return this.#resume(request.mounts, request.departed);
      case 'detach':
        return this.#detach(request.mount);
      case 'rest':
        return this.#rest();
      case 'catchUp':
        this.#store.catchUp();
        this.#lookAtSessions();
        return Promise.all([this.#shared.told(), ...[...this.#trees.values()].map((tree) => tree.settled)]);
      case 'usage':
        return [...this.#mounts.values()].map((mounted) => usageOf(mounted));
      case 'held':
        // What sessions know is held by the rows that say so.
        this.#trees.tidy();
        return [...this.#mounts.values()].flatMap(({ view }) => view.handles.contents());
      case 'peers':
        this.#peers.count = request.count;
        return undefined;
      case 'peersTold':
        this.#peers.told(request.telling);
        return undefined;
      case 'stop':
        return this.#stop();
    }
  }

  /** Serves a mount; resolves with the kernel's features when the kernel has said hello. */
  #attach(request: AttachRequest): Promise<KernelFeatures> {
    const { requests } = this.#store;
    this.#store.write(() => requests.forget(request.mount), true);
    const { view, cache, operations } = this.#view(request);
    return new Promise((resolve, reject) => {
      this.#open(
        { request, view, cache, operations },
        {
          ready: (connection) => {
            cache.connection = connection;
            const { protocol, resend, epoch } = connection;
            resolve({ protocol, resend, epoch });
          },
          ended: () => reject(new Error('the kernel ended the mount')),
        },
      );
    });
  }

  #view(request: AttachRequest): Omit<Mounted, 'channel' | 'told'> {
    const tree = this.#trees.open(request);
    const cache = new ChannelCache(tree.root.id);
    const view = new View(tree, request.mount, request.path, cache, memoryHarness(request.harness));
    return { request, view, cache, operations: new DividedOperations(view, this.#shared) };
  }

  #open(
    { request, view, cache, operations }: Omit<Mounted, 'channel' | 'told'>,
    { ready, ended }: Pick<ChannelEvents, 'ready' | 'ended'>,
    features?: KernelFeatures,
  ): void {
    const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const { journal } = this.#services;
    const events: ChannelEvents = {
      ready,
      ended: () => {
        ended();
        if (this.#forget(request.mount)) this.#send({ kind: 'ended', mount: request.mount });
      },
      answering: () => {
        noteTold(this.#mounts.values(), journal, this.#store.feed.seen);
        journal.flush();
        this.#shared.flushJournals();
        mayDie();
      },
      called: () => {
        this.#called = true;
        this.#pulse.stir();
      },
    };
    const channel = new Channel(loadNative(), request.fd, owner, operations, events, features);
    cache.channel = channel;
    this.#mounts.set(request.mount, { request, view, channel, cache, operations, told: -1 });
    this.#shared.connect({ view, cache });
  }

  /** Goes on where a process died or left: its open files, its unsaved bytes, and what it has not answered. */
  #resume(mounts: readonly ResumeRequest[], departed: readonly ResumeRequest[]): void {
    this.#services.knowledge.resume(this.#store.now);
    this.#services.sessions.resume();
    const served = mounts.map((request) => ({ ...this.#view(request), features: request.features }));
    const left = departed.map((request) => this.#view(request).view);
    for (const tree of this.#trees.values()) resume(tree, [...tree.views]);
    for (const view of left) this.#letGo(view, true);
    for (const { request, cache, features } of served) {
      this.#store.requests.load(request.mount);
      cache.connection = features;
    }
    this.#shared.resume(served);
    for (const mounted of served) {
      const { view, cache, features } = mounted;
      this.#open(mounted, { ready() {}, ended() {} }, features);
      view.outdated = cache.takeOver(view, untold(view, this.#services.journal, this.#store));
    }
    this.#shared.expire();
    setTimeout(() => {
      for (const { request, view } of served) {
        this.#store.requests.settle(request.mount);
        if (view.tree.views.has(view)) attempt('unsaved writes were not kept', () => keepLeftovers(view));
      }
      this.#shared.settle();
    }, AFTER_TAKEOVER).unref();
  }

  async #rest(): Promise<void> {
    this.#pulse.end();
    await Promise.all([...this.#mounts.values()].map(({ channel }) => channel.rest(PATIENCE)));
    attempt('background work failed', () => this.#trees.tidy());
    this.#services.journal.flush(true);
    this.#shared.rest();
    await this.#store.flushed();
  }

  #detach(mount: number): void {
    const mounted = this.#mounts.get(mount);
    if (!mounted) return;
    this.#forget(mount);
    mounted.channel.close();
  }

  /** Saves what is still unsaved and lets go of a mount; false when it was gone already. */
  #forget(mount: number): boolean {
    const mounted = this.#mounts.get(mount);
    if (!mounted) return false;
    this.#mounts.delete(mount);
    this.#letGo(mounted.view, false);
    return true;
  }

  #letGo(view: View, unserved: boolean): void {
    forgetTold(view.mount, this.#services.journal);
    leave(view, unserved);
    this.#shared.leave(view);
    attempt('background work failed', () => this.#trees.tidy());
    this.#trees.leave(view.tree);
  }

  #tick(): void {
    attempt('background work failed', () => {
      this.#store.catchUp();
      this.#lookAtSessions();
      this.#trees.tidy();
      this.#shared.tick();
      // What its processes start is found by looking.
      if (this.#shared.isActive) this.#pulse.stir();
      this.#services.journal.flush(true);
      this.#store.log
        .flushIfNeeded()
        .catch((error: unknown) => log('error', 'cannot flush the store', { error: describeError(error) }));
    });
  }

  #turned(rests: boolean): void {
    if (rests) attempt('memory was not given back', () => giveBack(this.#store.db));
    this.#send({ kind: 'rests', rests });
  }

  async #stop(): Promise<void> {
    this.#pulse.end();
    for (const mount of [...this.#mounts.keys()]) this.#detach(mount);
    attempt('background work failed', () => this.#trees.tidy());
    this.#shared.close();
    await this.#store
      .flushed()
      .catch((error: unknown) => log('error', 'cannot flush the store', { error: describeError(error) }));
    this.#merger.close();
    this.#store.close();
  }
}
