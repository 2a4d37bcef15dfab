import { memoryHarness } from '../harness/registry.js';
import type { Limits } from '../ports/limits.js';
import { Knowledge } from '../session/knowledge.js';
import type { SharedSession } from '../store/named-sessions.js';
import { scratchFolder, scratchJournal } from '../store/scratch-folder.js';
import { Store } from '../store/store.js';
import { leave } from '../tree/leaving.js';
import { Quota } from '../tree/quota.js';
import { keepLeftovers, resume } from '../tree/resuming.js';
import { baseOf, type Scratch } from '../tree/sharing.js';
import { Tree, type TreeServices } from '../tree/tree.js';
import { View } from '../tree/view.js';
import { ViewOperations } from '../tree/view-operations.js';
import { attempt } from './attempt.js';
import { ChannelCache } from './channel-cache.js';
import { JournalFile } from './journal-file.js';
import { mayDie } from './may-die.js';
import type { ServerData } from './messages.js';
import { recoverDrafts, removeUnfinished } from './recovery.js';
import type { Mounted } from './server.js';

const PROJECT = 'scratch';
/** A week in µs: what such a session knows of its own files is of use to nobody after that. */
const SERVED_AGE = 7 * 86_400 * 1e6;

/** A mount, as far as a scratch needs it. */
export type ScratchMount = Pick<Mounted, 'request' | 'view' | 'cache'>;

/**
 * What one shared session sees in the place of memory, on every mount: a store of its own, in which each tree of memory has
 * an empty one beside it. It is served by the code that serves memory, and so behaves as memory does.
 */
export class ScratchSpace {
  readonly session: SharedSession;
  readonly #store: Store;
  readonly #journal: JournalFile;
  readonly #services: TreeServices;
  readonly #quota: Quota;
  readonly #project: number;
  readonly #owner: string;
  /** By the id of the tree of memory that each stands for. */
  readonly #trees = new Map<number, Tree>();
  readonly #scratches = new Map<View, Scratch & { readonly cache: ChannelCache }>();

  /** @param isServed tells whether the daemon that owns drafts is alive */
  constructor(
    session: SharedSession,
    data: ServerData,
    services: TreeServices,
    limits: Limits,
    isServed: (owner: string) => boolean,
  ) {
    this.session = session;
    this.#owner = data.owner;
    const folder = scratchFolder(data.folder, session.id);
    const store = new Store(folder, { create: true, owner: data.owner, machine: () => data.machine });
    this.#store = store;
    store.committed = mayDie;
    if (!data.takesOver) {
      recoverDrafts(store, (owner) => owner !== data.owner && isServed(owner));
      removeUnfinished(store);
    }
    this.#journal = new JournalFile(scratchJournal(data.folder, session.id, data.owner), data.takesOver);
    const known = store.projects.byName(PROJECT);
    const project = known ?? store.write(() => store.projects.create([PROJECT], store.now), true);
    this.#project = project.id;
    this.#quota = new Quota(limits, () => store.trees.usage(project.id));
    this.#services = {
      ...services,
      store,
      journal: this.#journal,
      knowledge: new Knowledge((key, tree, path) => store.sessions.served(key, tree, path), this.#journal),
    };
    store.follow = (changes) => {
      const open = [...this.#trees.values()];
      for (const tree of open) {
        const news = changes?.filter((change) => change.tree === tree.id).map(({ node }) => node);
        tree.follow(news ?? [...tree.nodes.keys(), ...store.loadNodes(tree.id, 0).map(({ id }) => id)]);
      }
      return open.length > 0;
    };
  }

  /** What the session sees on a mount; the folder is made when it is looked at first. */
  scratchOf(mounted: ScratchMount): Scratch {
    const known = this.#scratches.get(mounted.view);
    if (known) return known;
    const scratch = this.#open(mounted);
    // A kernel counts its requests anew with each mount.
    this.#store.write(() => this.#store.requests.forget(scratch.view.mount), true);
    return scratch;
  }

  #open(mounted: ScratchMount): Scratch {
    const { request, view: memory, cache: kernel } = mounted;
    const tree = this.#treeFor(memory.tree.id);
    const cache = new ChannelCache(tree.root.id, baseOf(this.session.slot));
    cache.channel = kernel.channel;
    cache.connection = kernel.connection;
    const view = new View(
      tree,
      this.#mountRow(tree, request.path),
      request.path,
      cache,
      memoryHarness(request.harness),
    );
    const scratch = { slot: this.session.slot, view, operations: new ViewOperations(view), cache };
    this.#scratches.set(memory, scratch);
    return scratch;
  }

  find(memory: View): Scratch | undefined {
    return this.#scratches.get(memory);
  }

  /** Goes on where a process died or left, before anything is served. */
  resume(mounts: readonly ScratchMount[]): void {
    this.#services.knowledge.resume(this.#store.now);
    for (const mounted of mounts) {
      const { view } = this.#open(mounted);
      this.#store.requests.load(view.mount);
    }
    for (const tree of this.#trees.values()) resume(tree, [...tree.views]);
  }

  /** Everything that was not answered was sent again by now. */
  settle(): void {
    for (const { view } of this.#scratches.values()) {
      this.#store.requests.settle(view.mount);
      attempt('unsaved writes of a shared session were not kept', () => keepLeftovers(view));
    }
  }

  /** A mount is served now: its kernel can be told of changes. */
  connect({ view, cache }: Pick<ScratchMount, 'view' | 'cache'>): void {
    const own = this.#scratches.get(view)?.cache;
    if (!own) return;
    own.channel = cache.channel;
    own.connection = cache.connection;
  }

  /** A mount is gone. */
  leave(memory: View): void {
    const scratch = this.#scratches.get(memory);
    this.#scratches.delete(memory);
    if (scratch) leave(scratch.view);
    for (const [id, tree] of this.#trees) if (tree.views.size === 0) this.#trees.delete(id);
  }

  flushJournal(everything = false): void {
    this.#journal.flush(everything);
  }

  /** Applies what another daemon has changed there, and resolves when the kernels were told. */
  async catchUp(): Promise<void> {
    this.#store.catchUp();
    await Promise.all([...this.#trees.values()].map((tree) => tree.settled));
  }

  /** Work that can wait. */
  tick(): void {
    this.#store.catchUp();
    const unsaved = this.#services.knowledge.takeUnsaved();
    const trees = [...this.#trees.values()].filter((tree) => tree.isUntidy);
    if (unsaved.length > 0 || trees.length > 0)
      this.#store.write(() => {
        for (const tree of trees) tree.tidy();
        for (const { session, tree, path, content, at } of unsaved)
          this.#store.saveServed(this.#store.sessionRow(session), tree, path, content, at);
      }, true);
    this.flushJournal(true);
  }

  /** Deletes contents that nothing leads to any more. */
  sweep(): void {
    const held = [...this.#scratches.values()].flatMap(({ view }) => view.handles.contents());
    const { contents, feed, sessions, now } = this.#store;
    const ids = contents.unreferenced(held);
    this.#store.write(() => {
      contents.sweep(ids, held);
      feed.prune();
      sessions.forgetServed(now - SERVED_AGE, now - SERVED_AGE);
    }, true);
  }

  close(): void {
    for (const memory of [...this.#scratches.keys()]) this.leave(memory);
    this.#journal.close();
    this.#store.close();
  }

  /** Leaves everything as it is to a process that takes over. */
  rest(): void {
    attempt('background work failed', () => this.tick());
  }

  #treeFor(memory: number): Tree {
    const known = this.#trees.get(memory);
    if (known) return known;
    const row = this.#store.treeOf(this.#project, `tree-${memory}`);
    const tree = new Tree(row.id, this.#services, this.#quota);
    this.#trees.set(memory, tree);
    return tree;
  }

  /** The row that local files of a mount belong to. */
  #mountRow(tree: Tree, path: string): number {
    const { trees, machine } = this.#store;
    const owner = this.#owner;
    return this.#store.write(() => {
      const mine = trees.mountsAt(machine, path).find((row) => row.owner === owner && row.tree === tree.id);
      const id = mine?.id ?? this.#store.newId();
      if (!mine) trees.putMount({ id, tree: tree.id, path, checkout: '/', owner }, machine);
      return id;
    }, true);
  }
}
