import { readFileSync } from 'node:fs';
import { Channel, type ChannelEvents } from '../fuse/channel.js';
import { loadNative } from '../fuse/native.js';
import { harnessOfProgram, memoryHarness } from '../harness/registry.js';
import { describeError, log } from '../log.js';
import type { Limits } from '../ports/limits.js';
import { Knowledge } from '../session/knowledge.js';
import { SessionFinder } from '../session/session-finder.js';
import { Store } from '../store/store.js';
import { leave } from '../tree/leaving.js';
import { Quota } from '../tree/quota.js';
import { keepLeftovers, resume } from '../tree/resuming.js';
import { Tree, type TreeServices } from '../tree/tree.js';
import { View } from '../tree/view.js';
import { ViewOperations } from '../tree/view-operations.js';
import { attempt } from './attempt.js';
import { ChannelCache } from './channel-cache.js';
import { JournalFile } from './journal-file.js';
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
import { PeerTelling } from './peer-telling.js';
import { procProcesses } from './processes.js';
import { rehearse } from './rehearsal.js';
import { ThreadedMerger } from './threaded-merger.js';
import { tidy } from './tidying.js';
import { forgetTold, noteTold, wasToldOfAll } from './told.js';

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
  /** Number in the feed up to which the kernel is noted to have been told of everything. */
  told: number;
}

/** The serving thread: owns the mounts and the store connection that serves them. */
export class MountServer {
  readonly #store: Store;
  readonly #services: TreeServices;
  readonly #merger = new ThreadedMerger();
  readonly #limits: Limits;
  readonly #trees = new Map<number, Tree>();
  readonly #quotas = new Map<number, Quota>();
  readonly #mounts = new Map<number, Mounted>();
  readonly #send: (message: ServerMessage) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #peers: PeerTelling;
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
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const clock = () => this.#store.now;
    const harnessOf = (executable: string) => harnessOfProgram(executable)?.name;
    const journal = new JournalFile(data.journal, data.takesOver);
    const sessions = new SessionFinder(procProcesses, clock, boot, harnessOf, journal);
    this.#services = {
      store: this.#store,
      journal,
      clock,
      processes: procProcesses,
      sessions,
      knowledge: new Knowledge((session, tree, path) => this.#store.sessions.served(session, tree, path), journal),
      merger: this.#merger,
      host: data.machine.name,
      tellPeers: () => this.#peers.tell(),
      hasPeers: () => this.#peers.count > 0,
    };
    this.#store.follow = (changes) => {
      let followed = false;
      for (const [id, tree] of this.#trees) {
        const ids = changes
          ? changes.filter((change) => change.tree === id).map((change) => change.node)
          : [...tree.nodes.keys(), ...this.#store.loadNodes(id, 0).map((row) => row.id)];
        if (ids.length === 0) continue;
        tree.follow(ids);
        followed = true;
      }
      return followed;
    };
    this.#timer = setInterval(() => this.#tick(), TICK);
    setTimeout(() => this.#rehearse(data), data.takesOver ? AFTER_TAKEOVER : 0).unref();
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
        return Promise.all([...this.#trees.values()].map((tree) => tree.settled));
      case 'usage':
        return [...this.#mounts.values()].map((mounted) => usageOf(mounted));
      case 'held':
        // What sessions know is held by the rows that say so.
        this.#tickTrees();
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
    const { view, cache } = this.#view(request);
    return new Promise((resolve, reject) => {
      this.#open(request, view, cache, {
        ready: (connection) => {
          cache.connection = connection;
          const { protocol, resend, epoch } = connection;
          resolve({ protocol, resend, epoch });
        },
        ended: () => reject(new Error('the kernel ended the mount')),
      });
    });
  }

  #view(request: AttachRequest): { view: View; cache: ChannelCache } {
    const tree = this.#tree(request);
    const cache = new ChannelCache(tree.root.id);
    return { view: new View(tree, request.mount, request.path, cache, memoryHarness(request.harness)), cache };
  }

  #open(
    request: AttachRequest,
    view: View,
    cache: ChannelCache,
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
        mayDie();
      },
      called: () => {
        this.#called = true;
      },
    };
    const channel = new Channel(loadNative(), request.fd, owner, new ViewOperations(view), events, features);
    cache.channel = channel;
    this.#mounts.set(request.mount, { request, view, channel, cache, told: -1 });
  }

  /** Goes on where a process died or left: its open files, its unsaved bytes, and what it has not answered. */
  #resume(mounts: readonly ResumeRequest[], departed: readonly ResumeRequest[]): void {
    this.#services.knowledge.resume(this.#store.now);
    this.#services.sessions.resume();
    const served = mounts.map((request) => ({ request, ...this.#view(request) }));
    const left = departed.map((request) => this.#view(request).view);
    for (const tree of this.#trees.values()) resume(tree, [...tree.views]);
    for (const view of left) this.#letGo(view, true);
    for (const { request, view, cache } of served) {
      this.#store.requests.load(request.mount);
      cache.connection = request.features;
      this.#open(request, view, cache, { ready() {}, ended() {} }, request.features);
      view.outdated = cache.forgetAll(
        view,
        !wasToldOfAll(request.mount, this.#services.journal, this.#store.feed.last()),
      );
    }
    setTimeout(() => {
      for (const { request, view } of served) {
        this.#store.requests.settle(request.mount);
        if (view.tree.views.has(view)) attempt('unsaved writes were not kept', () => keepLeftovers(view));
      }
    }, AFTER_TAKEOVER).unref();
  }

  async #rest(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#mounts.values()].map(({ channel }) => channel.rest(PATIENCE)));
    attempt('background work failed', () => this.#tickTrees());
    this.#services.journal.flush(true);
    await this.#store.flushed();
  }

  #tree(request: AttachRequest): Tree {
    let tree = this.#trees.get(request.tree);
    if (tree) return tree;
    this.#store.catchUp();
    let quota = this.#quotas.get(request.project);
    if (!quota) {
      quota = new Quota(this.#limits, () => this.#store.trees.usage(request.project));
      this.#quotas.set(request.project, quota);
    }
    quota.refresh();
    tree = new Tree(request.tree, this.#services, quota, memoryHarness(request.harness).maintainedKeys);
    this.#trees.set(request.tree, tree);
    return tree;
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
    attempt('background work failed', () => this.#tickTrees());
    if (view.tree.views.size === 0) this.#trees.delete(view.tree.id);
  }

  #tick(): void {
    attempt('background work failed', () => {
      this.#store.catchUp();
      this.#tickTrees();
      this.#services.journal.flush(true);
      this.#store.log
        .flushIfNeeded()
        .catch((error: unknown) => log('error', 'cannot flush the store', { error: describeError(error) }));
    });
  }

  #tickTrees(): void {
    tidy(this.#store, this.#services.knowledge, this.#trees.values());
  }

  async #stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const mount of [...this.#mounts.keys()]) this.#detach(mount);
    attempt('background work failed', () => this.#tickTrees());
    await this.#store
      .flushed()
      .catch((error: unknown) => log('error', 'cannot flush the store', { error: describeError(error) }));
    this.#merger.close();
    this.#store.close();
  }
}
