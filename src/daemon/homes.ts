import { dirname } from 'node:path';
import { type CarriedPlace, type Carrier, type CarryLimits, carriers } from '../import/carrier.js';
import type { Skipped } from '../import/folder-reader.js';
import { describeError, log } from '../log.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';

/** How often, in ms, homes are looked at for what a harness changed. */
const LOOK = 2000;

/** A mounted folder in a home. */
export interface HomeMount {
  readonly path: string;
  readonly tree: TreeRow;
}

/**
 * Looks after the homes of harnesses that keep more than their memory folder (`Carrier`). Nothing depends on a harness or a
 * daemon that ends well: what changed is found by looking, also before the next mount. While a session of the harness is
 * shared that was not ended, the homes of its project are left alone; `session end` sees to what was done there meanwhile.
 */
export class Homes {
  readonly #store: Store;
  readonly #limits: CarryLimits;
  readonly #timer: NodeJS.Timeout;
  #queue: Promise<unknown> = Promise.resolve();
  #looking = false;

  /** @param mounts the folders that are mounted now */
  constructor(store: Store, limits: CarryLimits, mounts: () => readonly HomeMount[]) {
    this.#store = store;
    this.#limits = limits;
    this.#timer = setInterval(() => this.#look(mounts()), LOOK);
    this.#timer.unref();
  }

  /** Has a home know what the store has, before its memory folder is mounted, or once more. */
  bring(mount: HomeMount, checkout: string): Promise<readonly Skipped[]> {
    return this.#inTurn(mount, checkout, (carrier, place) => carrier.bring(this.#store, place, this.#limits));
  }

  /** Before a folder in a home is mounted: what a shared session may have laid there is no memory. */
  keepOut({ path, tree }: HomeMount): void {
    const since = this.#sharedSince(tree);
    if (since !== undefined) carriers[tree.harness]?.keepOut({ home: dirname(path) }, since);
  }

  /** Takes what the harness did in a home into the store. */
  take(mount: HomeMount, hurry = false): Promise<readonly Skipped[]> {
    const checkout = this.#store.trees.mountsAt(this.#store.machine, mount.path)[0]?.checkout ?? '/';
    return this.#inTurn(mount, checkout, (carrier, place) => carrier.take(this.#store, place, this.#limits, hurry));
  }

  /** Takes it from several homes; what goes wrong is logged, and tried again later. */
  async takeAll(mounts: readonly HomeMount[], hurry = false): Promise<void> {
    for (const mount of mounts) {
      await this.take(mount, hurry).catch((error: unknown) =>
        log('warn', 'a home could not be looked after', { path: mount.path, error: describeError(error) }),
      );
    }
  }

  /** Name of what a home has and is not carried, as it is over a limit; null when there is nothing such. */
  refused({ path, tree }: HomeMount): string | null {
    const carrier = carriers[tree.harness];
    const [first] = carrier?.refused(this.#store, placeOf({ path, tree }, '/')) ?? [];
    return first ? first.path : null;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #inTurn(
    mount: HomeMount,
    checkout: string,
    work: (carrier: Carrier, place: CarriedPlace) => Promise<readonly Skipped[]>,
  ): Promise<readonly Skipped[]> {
    const carrier = carriers[mount.tree.harness];
    if (!carrier) return Promise.resolve([]);
    const turn = this.#queue.then(() =>
      this.#sharedSince(mount.tree) !== undefined ? [] : work(carrier, placeOf(mount, checkout)),
    );
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  /** A shared session may use the home: until it is ended nothing is taken from there, nor brought. µs since the epoch. */
  #sharedSince(tree: TreeRow): number | undefined {
    const { named } = this.#store.sessions;
    const isOurs = ({ project, harness }: { readonly project: number; readonly harness: string }): boolean =>
      project === tree.project && harness === tree.harness;
    if (!named.shared().some(isOurs)) return undefined;
    const since = named.list().flatMap((one) => (isOurs(one) && one.ended === null ? (one.shared ?? []) : []));
    return Math.min(...since);
  }

  #look(all: readonly HomeMount[]): void {
    const mounts = all.filter(({ tree }) => carriers[tree.harness] !== undefined);
    if (this.#looking || mounts.length === 0) return;
    this.#looking = true;
    this.takeAll(mounts, true).finally(() => {
      this.#looking = false;
    });
  }
}

function placeOf({ path, tree }: HomeMount, checkout: string): CarriedPlace {
  return { tree, home: dirname(path), folder: path, checkout };
}
