import { writeSync } from 'node:fs';
import { ChannelCache } from '../../src/daemon/channel-cache.js';
import { procProcesses } from '../../src/daemon/processes.js';
import { Channel } from '../../src/fuse/channel.js';
import { loadNative, type NativeChannel } from '../../src/fuse/native.js';
import { claude } from '../../src/harness/claude.js';
import { harnessOfProgram } from '../../src/harness/registry.js';
import { type Journal, noJournal } from '../../src/ports/journal.js';
import { DEFAULT_LIMITS } from '../../src/ports/limits.js';
import { Knowledge } from '../../src/session/knowledge.js';
import { reconcile } from '../../src/session/reconcile.js';
import { SessionFinder } from '../../src/session/session-finder.js';
import { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { Quota } from '../../src/tree/quota.js';
import { Tree, type TreeServices } from '../../src/tree/tree.js';
import { View } from '../../src/tree/view.js';
import { ViewOperations } from '../../src/tree/view-operations.js';

const native = loadNative();
/** Turns of the event loop after which what was sent must have been read. */
const TURNS = 10_000;
/** Bytes that a socket takes at once, unlike the kernel's device, whose reader waits for each answer as it is. */
const SOCKET_TAKES = 64 * 1024;

/** The kernel's end of a mount: what it sends, and what it gets back. */
export interface KernelEnd {
  /** Sends one message, and waits until it has been served. */
  send(bytes: Buffer): Promise<void>;
  /** What was answered since the last call. */
  received(): Buffer;
  close(): void;
}

/** A store with trees that are served as the daemon serves them, over sockets in place of the kernel's device. */
export class World {
  readonly store: Store;
  readonly #folder: string;
  readonly #services: TreeServices;
  readonly #trees = new Map<number, Tree>();

  /** @param journal what the process notes for its successor */
  constructor(folder: string, journal: Journal = noJournal) {
    this.#folder = folder;
    this.store = this.#open();
    this.store.db.pragma('synchronous = OFF');
    const clock = () => this.store.now;
    const harnessOf = (executable: string) => harnessOfProgram(executable)?.name;
    this.#services = {
      ...{ store: this.store, journal, clock, processes: procProcesses, host: 'this-host' },
      sessions: new SessionFinder(procProcesses, clock, 'boot', harnessOf, journal),
      knowledge: new Knowledge(),
      merger: { inPlace: false, reconcile },
      tellPeers: () => undefined,
      hasPeers: () => false,
    };
  }

  #open(): Store {
    const machine = () => ({ machineId: 'a'.repeat(32), name: 'this-host' });
    return new Store(this.#folder, { create: true, owner: 'test', machine });
  }

  /** The tree of a new project. */
  addTree(name: string): Tree {
    const { store } = this;
    const row = store.write((): TreeRow => {
      const { id } = store.projects.create([name], store.now);
      return store.trees.create(id, 'claude', () => store.newId(), store.now);
    });
    const tree = this.load(row);
    this.#trees.set(row.id, tree);
    return tree;
  }

  /** A tree as a process that starts now would show it. */
  load(row: Pick<TreeRow, 'id' | 'project'>): Tree {
    return new Tree(row.id, this.#services, new Quota(DEFAULT_LIMITS, () => this.store.trees.usage(row.project)));
  }

  /** Serves a mount of a tree. */
  mount(tree: Tree, id = this.store.newId()): KernelEnd & { readonly view: View } {
    const pair = native.socketPair();
    if (typeof pair === 'number') throw new Error(`errno ${-pair}`);
    const [ours, theirs] = pair;
    const cache = new ChannelCache(tree.root.id);
    const view = new View(tree, id, '/mount', cache, claude);
    let taken = 0;
    const large: Buffer[] = [];
    const counting = {
      ...native,
      receive(fd: number, buffer: Buffer): number {
        const length = native.receive(fd, buffer);
        if (length > 0) taken++;
        return length;
      },
      send(fd: number, head: Buffer, length: number, ...tail: [Buffer?, number?, number?]): number {
        const [data = Buffer.alloc(0), start = 0, rest = 0] = tail;
        if (length + rest <= SOCKET_TAKES) return native.send(fd, head, length, ...tail);
        large.push(Buffer.concat([head.subarray(0, length), data.subarray(start, start + rest)]));
        return length + rest;
      },
    };
    const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const events = { ready: () => {}, ended: () => {}, called: () => {}, answering: () => {} };
    const agreement = { protocol: '7.45', resend: false, epoch: true };
    const channel = new Channel(counting, ours, owner, new ViewOperations(view), events, agreement);
    cache.channel = channel;
    cache.connection = agreement;
    const probe = native.watch(theirs, () => {}) as NativeChannel;
    native.unwatch(probe);
    const buffer = Buffer.alloc(1 << 20);
    return {
      view,
      async send(bytes) {
        const before = taken;
        writeSync(theirs, bytes);
        for (let turn = 0; taken === before; turn++) {
          if (turn > TURNS) throw new Error('what was sent is not read');
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
      received() {
        const parts = large.splice(0);
        for (let length = native.receive(theirs, buffer); length > 0; length = native.receive(theirs, buffer))
          parts.push(Buffer.from(buffer.subarray(0, length)));
        return Buffer.concat(parts);
      },
      close() {
        channel.close();
        native.closeDescriptor(theirs);
      },
    };
  }

  /** What the serving thread does now and then. */
  tick(): void {
    const unsaved = this.#services.knowledge.takeUnsaved();
    this.store.write(() => {
      for (const tree of this.#trees.values()) if (tree.isUntidy) tree.tidy();
      for (const { session, tree, path, content, at } of unsaved)
        this.store.saveServed(this.store.sessionRow(session), tree, path, content, at);
    }, true);
  }
}
