import { MendError } from '../errors.js';
import { mountWithFusermount, unmountWithFusermount } from '../fuse/fusermount.js';
import { loadNative } from '../fuse/native.js';
import { memoryHarness } from '../harness/registry.js';
import type { HeldFolder } from '../import/held-folder.js';
import { nameCheckout } from '../import/note-origin.js';
import { keepToOwner } from '../import/owner-only.js';
import { summary, takeIn, withLate } from '../import/take-in.js';
import { writeBack } from '../import/write-back.js';
import { describeError, log } from '../log.js';
import type { Limits } from '../ports/limits.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import type { MountAnswer, MountRequest, SkippedFile, UnmountAnswer } from './control-protocol.js';
import type { Homes } from './homes.js';
import type { Keeper } from './keeper.js';
import type { ResumeRequest } from './messages.js';
import { busy, keyOf, MOVED, type Mount } from './mount.js';
import { deviceAt, movedTo, placeNow, takeMovedOff } from './mount-places.js';
import {
  clearMountPoint,
  confirmMount,
  holdMountPoint,
  mendMounts,
  prepareMountPoint,
  realPath,
} from './mount-point.js';
import { mountRow } from './mount-row.js';
import type { Peers } from './peers.js';
import type { RuntimeFiles } from './runtime-files.js';
import type { Adopted, ServingThread } from './serving-thread.js';
import type { HeldMount } from './supervision.js';

/** Puts mounts up and takes them off, one at a time. */
export class Mounter {
  readonly #store: Store;
  readonly #thread: ServingThread;
  readonly #peers: Peers;
  readonly #limits: Limits;
  readonly #files: RuntimeFiles;
  readonly #keeper: Keeper;
  readonly #homes: Homes;
  readonly #mounts = new Map<number, Mount>();
  #queue: Promise<unknown> = Promise.resolve();
  /** Mounts and unmounts that are under way or wait for their turn. */
  #waiting = 0;

  constructor(
    store: Store,
    thread: ServingThread,
    peers: Peers,
    limits: Limits,
    files: RuntimeFiles,
    keeper: Keeper,
    homes: Homes,
  ) {
    this.#homes = homes;
    this.#keeper = keeper;
    this.#files = files;
    this.#peers = peers;
    this.#limits = limits;
    this.#store = store;
    this.#thread = thread;
  }

  get homes(): Homes {
    return this.#homes;
  }

  get mounts(): readonly Mount[] {
    return [...this.#mounts.values()];
  }

  /** True when nothing is mounted, nor about to be. */
  get isIdle(): boolean {
    return this.#mounts.size === 0 && this.#waiting === 0;
  }

  /** @throws {MendError} when the mount did not come up; nothing is mounted then. */
  async mount(request: MountRequest): Promise<MountAnswer> {
    // A turn of its own, so that word of its end does not come when another has its number.
    if (this.#mountFor(request.path)) await this.#inTurn(() => this.#clearMoved(request.path));
    return this.#inTurn(() => this.#mount(request));
  }

  unmount(paths: readonly string[] | undefined, force: boolean): Promise<UnmountAnswer> {
    return this.#inTurn(() => this.#unmount(paths, force));
  }

  /** Takes over mounts that an earlier server left, and gives back what the serving thread is to go on with. */
  async adopt(held: readonly (HeldMount & { readonly fd: number })[]): Promise<Adopted> {
    const mounts: ResumeRequest[] = [];
    const departed: ResumeRequest[] = [];
    for (const { fd, mount, tree: id, path, device, features } of held) {
      const tree = this.#store.trees.get(id);
      const { project = 0, harness = '' } = tree ?? {};
      const request = { fd, mount, tree: id, project, harness, path, features };
      if (!tree || placeNow({ path, device }) === undefined) {
        log('warn', tree ? 'mount was taken off' : 'the memory of a mount is not in the store any more', { path });
        loadNative().closeDescriptor(fd);
        await this.#keeper.drop(keyOf(mount));
        if (!tree) continue;
        this.#writeBack({ id: mount, path, device, tree, features });
        departed.push(request);
        continue;
      }
      mounts.push(request);
      this.#mounts.set(mount, { id: mount, path, device, tree, features });
    }
    return { mounts, departed };
  }

  /** Mounts anew what went with an earlier server, whose kernel cannot send requests again. */
  async mountAgain(lost: readonly HeldMount[]): Promise<void> {
    for (const { tree: id, path, checkout } of lost) {
      const tree = this.#store.trees.get(id);
      if (!tree) continue;
      const { project, harness } = tree;
      await this.mount({ project, harness, path, checkout }).catch((error: unknown) =>
        log('error', 'cannot mount again', { path, error: describeError(error) }),
      );
    }
  }

  /** Resolves when nothing is being mounted or unmounted; what is asked for from then on waits for ever. */
  async rest(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#inTurn(
        () =>
          new Promise(() => {
            resolve();
          }),
      );
    });
  }

  /** The kernel ended a mount: somebody took it off without mend. */
  ended(id: number): Promise<void> {
    return this.#inTurn(async () => {
      const mount = this.#mounts.get(id);
      if (!mount) return;
      this.#mounts.delete(id);
      await this.#keeper.drop(keyOf(id));
      log('info', 'mount was taken off', { path: mount.path });
      this.#writeBack(mount);
      await this.#takeFromHome(mount);
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const turn = this.#queue.then(work, work).finally(() => this.#waiting--);
    this.#queue = turn.catch(() => {});
    return turn;
  }

  #mountFor(path: string): Mount | undefined {
    return this.mounts.find((mount) => mount.path === path || mount.path === realPath(path));
  }

  async #clearMoved(path: string): Promise<void> {
    const mount = this.#mountFor(path);
    const moved = mount && movedTo(mount);
    if (!mount || !moved) return;
    await takeMovedOff(mount.path, moved);
    await this.#letGo(mount);
  }

  async #mount(request: MountRequest): Promise<MountAnswer> {
    const tree = this.#store.treeOf(request.project, request.harness);
    const served = this.#mountFor(request.path);
    if (served) {
      if (served.tree.id === tree.id) {
        if (nameCheckout(this.#store, tree, memoryHarness(request.harness), request.checkout)) await this.#tell();
        const skipped = await this.#homes.bring(served, request.checkout);
        return { path: served.path, already: true, taken: {}, partly: [], skipped };
      }
      throw new MendError(
        `cannot mount on ${served.path}: another project's memory is mounted there; run "mend unmount" in that project first`,
      );
    }
    await clearMountPoint(realPath(request.path));
    this.#homes.keepOut({ path: realPath(request.path), tree });
    const point = prepareMountPoint(request.path);
    let held: HeldFolder | undefined;
    try {
      held = holdMountPoint(point.path);
      return await this.#mountOn(point.path, held, request, tree);
    } catch (error) {
      point.undo();
      throw error;
    } finally {
      held?.close();
    }
  }

  async #mountOn(path: string, held: HeldFolder, request: MountRequest, tree: TreeRow): Promise<MountAnswer> {
    const harness = memoryHarness(request.harness);
    if (harness.ownerOnly) keepToOwner(held.at('.'));
    const left = await this.#homes.bring({ path, tree }, request.checkout);
    let imported = await takeIn(this.#store, tree, path, harness, this.#limits, held.at('.'));
    nameCheckout(this.#store, tree, harness, request.checkout);
    await this.#tell();
    const id = mountRow(this.#store, this.#files, tree, { path, checkout: request.checkout });
    const before = mendMounts();
    const fd = await mountWithFusermount(loadNative(), path, held.fd);
    await confirmMount(held, path, fd, before);
    try {
      const features = await this.#thread.attach({
        fd,
        mount: id,
        tree: tree.id,
        project: tree.project,
        harness: tree.harness,
        path,
      });
      const device = deviceAt(path);
      this.#mounts.set(id, { id, path, device, tree, features });
      const data = {
        kind: 'mount',
        mount: id,
        tree: tree.id,
        path,
        device,
        checkout: request.checkout,
        features,
      } as const;
      await this.#keeper.hold({ key: keyOf(id), data }, fd);
      // Programs may have saved there until the mount was up.
      const late = await takeIn(this.#store, tree, path, harness, this.#limits, held.at('.'));
      imported = withLate(imported, late);
      await this.#tell();
    } catch (error) {
      this.#mounts.delete(id);
      await unmountWithFusermount(path, true);
      throw error;
    }
    log('info', 'mounted', { path, project: tree.project, harness: tree.harness });
    const { taken, partly, skipped } = summary(imported);
    return { path, already: false, taken, partly, skipped: [...left, ...skipped] };
  }

  /** Has everybody who serves the store see what was changed here. */
  async #tell(): Promise<void> {
    await Promise.all([this.#thread.catchUp(), this.#peers.tell()]);
  }

  async #unmount(paths: readonly string[] | undefined, force: boolean): Promise<UnmountAnswer> {
    const unmounted: string[] = [];
    const failed: { path: string; reason: string }[] = [];
    const skipped: SkippedFile[] = [];
    for (const mount of this.mounts) {
      const at = movedTo(mount) ?? mount.path;
      if (paths && ![...paths, ...paths.map(realPath)].some((path) => path === mount.path || path === at)) continue;
      try {
        await unmountWithFusermount(at, force);
      } catch (error) {
        failed.push({ path: at, reason: busy(error) });
        continue;
      }
      await this.#letGo(mount);
      if (at !== mount.path) skipped.push({ path: at, reason: MOVED });
      else skipped.push(...this.#writeBack(mount), ...(await this.#takeFromHome(mount)));
      unmounted.push(at);
    }
    return { unmounted, failed, skipped };
  }

  /** Forgets a mount that was taken off. */
  async #letGo({ id }: Mount): Promise<void> {
    this.#mounts.delete(id);
    await this.#keeper.drop(keyOf(id));
    // It is off, whatever the thread makes of that: the memory goes back in any case.
    await this.#thread
      .detach(id)
      .catch((error: unknown) => log('error', 'mount was not let go', { error: describeError(error) }));
  }

  async #takeFromHome(mount: Mount): Promise<readonly SkippedFile[]> {
    try {
      return await this.#homes.take(mount);
    } catch (error) {
      log('error', 'what lies beside memory could not be taken', { path: mount.path, error: describeError(error) });
      return [{ path: '.', reason: 'could not be taken from where the harness keeps it; the next mount tries again' }];
    }
  }

  #writeBack(mount: Mount): readonly SkippedFile[] {
    try {
      const { written, removed, skipped } = writeBack(this.#store, mount.tree, mount.path, true);
      log('info', 'memory written back', { path: mount.path, written, removed, skipped: skipped.length });
      return skipped;
    } catch (error) {
      log('error', 'memory could not be written back', { path: mount.path, error: describeError(error) });
      return [{ path: '.', reason: 'memory could not be written back; it is safe in the store' }];
    }
  }
}
