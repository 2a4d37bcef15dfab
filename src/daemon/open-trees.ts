import { memoryHarness } from '../harness/registry.js';
import type { Limits } from '../ports/limits.js';
import type { Change } from '../store/feed.js';
import type { Store } from '../store/store.js';
import { Quota } from '../tree/quota.js';
import { Tree, type TreeServices } from '../tree/tree.js';
import type { AttachRequest } from './messages.js';

/** The trees that are mounted, each with its project's quota. */
export class OpenTrees {
  readonly #store: Store;
  readonly #services: TreeServices;
  readonly #limits: Limits;
  readonly #trees = new Map<number, Tree>();
  readonly #quotas = new Map<number, Quota>();

  constructor(store: Store, services: TreeServices, limits: Limits) {
    this.#store = store;
    this.#services = services;
    this.#limits = limits;
  }

  values(): IterableIterator<Tree> {
    return this.#trees.values();
  }

  /** The tree that a mount shows, loaded when it is the first. */
  open(request: AttachRequest): Tree {
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

  /** Lets go of a tree that no mount shows any more. */
  leave(tree: Tree): void {
    if (tree.views.size === 0) this.#trees.delete(tree.id);
  }

  /**
   * Takes over what other processes changed; true when an open tree did.
   * @param changes undefined when anything may have changed
   */
  follow(changes: readonly Change[] | undefined): boolean {
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
  }

  /** Stores what sessions know, times of folders, and the end of what nobody holds any more. */
  tidy(): void {
    const unsaved = this.#services.knowledge.takeUnsaved();
    const trees = [...this.#trees.values()].filter((tree) => tree.isUntidy);
    if (unsaved.length === 0 && trees.length === 0) return;
    this.#store.write(() => {
      for (const tree of trees) tree.tidy();
      for (const { session, tree, path, content, at } of unsaved) {
        this.#store.saveServed(this.#store.sessionRow(session), tree, path, content, at);
      }
    }, true);
  }
}
