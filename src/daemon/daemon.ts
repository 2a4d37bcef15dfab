import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createMessageConnection, type MessageConnection } from 'vscode-jsonrpc/node.js';
import { MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import { readMachine } from '../project/machine.js';
import { identityOf } from '../store/identity.js';
import { STORE_FILE } from '../store/location.js';
import { displaced } from '../store/place.js';
import { tidyReplaced } from '../store/replace-store.js';
import { Store } from '../store/store.js';
import {
  beginSessionRequest,
  catchUpRequest,
  type DaemonStatus,
  greetRequest,
  joinSessionRequest,
  leaveSessionRequest,
  mountRequest,
  replaceRequest,
  statusRequest,
  unmountRequest,
} from './control-protocol.js';
import { ControlReader, ControlWriter } from './control-streams.js';
import { forPeople } from './for-people.js';
import { Homes } from './homes.js';
import type { Inheritance, Keeper } from './keeper.js';
import { listen } from './listen.js';
import { Mounter } from './mounter.js';
import { peerOf } from './peer-of.js';
import { Peers } from './peers.js';
import { recoverDrafts, removeUnfinished } from './recovery.js';
import { removeRehearsals } from './rehearsal.js';
import { knownOwners, ownerIsAlive, runtimeFiles, takeLock } from './runtime-files.js';
import type { ServingThread } from './serving-thread.js';
import { SessionRegister } from './session-register.js';
import { readSettings } from './settings.js';
import { refuseUnmount, SharedProcesses } from './shared-processes.js';
import { giveRoom } from './spare-room.js';
import { statusOf } from './status-of.js';
import { StoreCare } from './store-care.js';
import { giveRoomOf, inspectionOf, markClosed, markOpen, settleStops } from './unclean-stop.js';

/** The process that serves one person's mounts of one store: control socket, mounts, and the thread that serves them. */
export class Daemon {
  readonly #store: Store;
  readonly #thread: ServingThread;
  readonly #mounter: Mounter;
  readonly #server: Server;
  readonly #care: StoreCare;
  readonly #peers: Peers;
  readonly #keeper: Keeper;
  readonly #sessions: SessionRegister;
  readonly #shared: SharedProcesses;
  readonly #connected = new Set<Socket>();
  #stopping: Promise<void> | undefined;

  private constructor(
    store: Store,
    thread: ServingThread,
    mounter: Mounter,
    server: Server,
    peers: Peers,
    keeper: Keeper,
  ) {
    this.#keeper = keeper;
    this.#store = store;
    this.#thread = thread;
    this.#mounter = mounter;
    this.#server = server;
    this.#peers = peers;
    this.#care = new StoreCare(store, thread, runtimeFiles(store.folder).room, () => keeper.replace());
    const changed = async (): Promise<void> => {
      await Promise.all([thread.catchUp(), peers.tell()]);
    };
    this.#sessions = new SessionRegister(store, changed);
    this.#shared = new SharedProcesses(store, () => this.#ours(), changed);
  }

  /**
   * Starts serving a store; resolves when the control socket answers, undefined when another daemon serves it.
   * @param inheritance what an earlier server has left: its mounts are served on
   * @throws {MendError} when the store cannot be opened.
   */
  static async start(
    folder: string,
    keeper: Keeper,
    thread: ServingThread,
    inheritance: Inheritance,
  ): Promise<Daemon | undefined> {
    const { limits, codex } = readSettings(process.env);
    const files = runtimeFiles(folder);
    const isFirst = inheritance.held.length === 0;
    // A server that takes over does not look: calls wait for it, and what killed the other one (a process's death) does
    // no harm to a file. What a look is for is a power cut or a disk that fails.
    const inspection = isFirst ? inspectionOf(folder, files, true) : undefined;
    if (inspection?.large !== undefined)
      log('info', 'looking for damage after an unclean stop', { bytes: inspection.large });
    const file = join(folder, STORE_FILE);
    // One of an earlier release has not told.
    for (const { data } of inheritance.held)
      if (data.kind === 'lock' && data.database && data.database !== identityOf(file)) throw displaced(file);
    giveRoomOf(files, inspection?.stops ?? [files.owner]);
    const store = new Store(folder, {
      create: isFirst,
      check: inspection?.check,
      owner: files.owner,
      machine: () => readMachine(folder),
    });
    if (inspection) {
      const lock = takeLock(files);
      if (lock === undefined) {
        store.close();
        return undefined;
      }
      await keeper.hold({ key: 'lock', data: { kind: 'lock', database: store.place?.database } }, lock);
      settleStops(files, inspection.stops);
      tidyReplaced(folder);
      rmSync(files.failure, { force: true });
    }
    markOpen(files, store.place);
    const resumed = inheritance.held.flatMap(({ fd, data }) => (data.kind === 'mount' ? [{ ...data, fd }] : []));
    const isServed = (owner: string): boolean => ownerIsAlive(files, owner);
    recoverDrafts(store, (owner) => (resumed.length > 0 && owner === files.owner) || isServed(owner));
    if (resumed.length === 0 && !knownOwners(files).some(isServed)) removeUnfinished(store);
    const { owner, journal } = files;
    let daemon: Daemon | undefined;
    thread.ended = (mount) => daemon?.mounter.ended(mount).then(() => daemon?.stopWhenIdle());
    thread.tellPeers = () => peers.tell();
    thread.rests = (rests) => keeper.rests(rests);
    thread.died = (error) => (daemon ? daemon.threadDied(error) : fail(error));
    const takesOver = resumed.length > 0;
    const begun = thread.start({ folder, owner, machine: readMachine(folder), limits, journal, takesOver });
    const peers = new Peers((count) => thread.setPeers(count));
    const homes = new Homes(store, { ...limits, ...codex }, () => daemon?.mounter.mounts ?? []);
    const mounter = new Mounter(store, thread, peers, limits, files, keeper, homes);
    const server = createServer((socket) => daemon?.answer(socket));
    await begun;
    const started = new Daemon(store, thread, mounter, server, peers, keeper);
    daemon = started;
    const adopted = await mounter.adopt(resumed);
    await listen(server, files);
    await peers.greet(files, (rpc) => started.#answerCatchUp(rpc));
    if (takesOver) await thread.resume(adopted);
    await mounter.mountAgain(inheritance.lost);
    keeper.onLeave = () => started.#leave();
    started.#care.begin();
    return started;
  }

  get mounter(): Mounter {
    return this.#mounter;
  }

  /** Answers one connection of the control socket. */
  answer(socket: Socket): void {
    this.#connected.add(socket);
    socket.on('close', () => {
      this.#connected.delete(socket);
      this.stopWhenIdle();
    });
    const reader = new ControlReader(socket);
    const rpc = createMessageConnection(reader, new ControlWriter(socket, reader));
    const peer = peerOf(socket);
    const answerPeer = (work: (peer: number) => Promise<void>) => forPeople(() => work(peer).then(() => null));
    socket.on('error', () => rpc.dispose());
    socket.on('close', () => rpc.dispose());
    rpc.onError(() => socket.destroy());
    rpc.onRequest(mountRequest, (request) => forPeople(() => this.#mounter.mount(request)));
    rpc.onRequest(unmountRequest, ({ paths, force }) =>
      forPeople(async () => {
        if (!force) refuseUnmount(this.#store);
        return this.#mounter.unmount(paths, force);
      }),
    );
    rpc.onRequest(statusRequest, () => forPeople(() => this.#status()));
    rpc.onRequest(replaceRequest, () => forPeople(() => this.#replace()));
    this.#answerCatchUp(rpc);
    rpc.onRequest(beginSessionRequest, (request) => answerPeer((peer) => this.#sessions.begin(peer, request)));
    rpc.onRequest(joinSessionRequest, (pid) => answerPeer((peer) => this.#sessions.join(peer, pid)));
    rpc.onRequest(leaveSessionRequest, () => answerPeer((peer) => this.#leaveSession(peer, this.#ours())));
    rpc.onRequest(greetRequest, () => {
      // Another daemon stays connected for as long as it lives; that alone is no reason to go on.
      this.#connected.delete(socket);
      this.#peers.add(rpc);
      return null;
    });
    rpc.listen();
  }

  /** The processes that serve. */
  #ours(): number[] {
    return [process.pid, ...(this.#keeper.pid === null ? [] : [this.#keeper.pid])];
  }

  /** What the program did is in the store when whoever started it ends. */
  async #leaveSession(peer: number, ours: readonly number[]): Promise<void> {
    await this.#sessions.leave(peer, ours);
    await this.#mounter.homes.takeAll(this.#mounter.mounts);
  }

  #answerCatchUp(rpc: MessageConnection): void {
    rpc.onRequest(catchUpRequest, () => forPeople(() => this.#thread.catchUp().then(() => null)));
  }

  async #status(): Promise<DaemonStatus> {
    return statusOf(this.#store, this.#mounter, this.#keeper, await this.#thread.usage());
  }

  /** Has another server take the place of this one; never resolves where that goes well, since this one ends. */
  #replace(): Promise<never> {
    if (this.#keeper.pid === null)
      throw new MendError('the supervisor is gone: run "mend unmount --all" and mount again');
    // Another process could not go on with what this one has.
    if (this.#isDisplaced()) throw displaced(join(this.#store.folder, STORE_FILE));
    return this.#keeper.replace().catch((error: Error) => {
      throw new MendError(`the daemon was not restarted, and the old one goes on: ${error.message}`);
    });
  }

  #isDisplaced(): boolean {
    return this.#store.place?.fault === 'database';
  }

  /** Leaves the mounts to another server that waits for them. */
  #leave(): void {
    if (this.#isDisplaced()) {
      this.#keeper.stay('the store was moved, removed or replaced meanwhile');
      return;
    }
    this.#stopping ??= new Promise(() => undefined);
    this.#care.end();
    this.#shared.end();
    this.#mounter.homes.end();
    const restOnce = this.#mounter
      .rest()
      .then(() => this.#thread.rest())
      // Where somebody removed the log, what is in it has to go into the database.
      .then(() => this.#store.place?.fault === 'log' && this.#store.db.pragma('wal_checkpoint(FULL)'));
    restOnce.then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  }

  /** Ends the daemon when nothing is mounted and nobody is connected who might ask for something. */
  stopWhenIdle(): void {
    if (!this.#mounter.isIdle || this.#connected.size > 0) return;
    this.#server.close();
    this.stop().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  }

  /** Takes every mount off, writes memory back, and closes the store. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#care.end();
    this.#shared.end();
    const { failed } = await this.#mounter.unmount(undefined, true);
    this.#mounter.homes.end();
    for (const { path, reason } of failed) log('error', 'cannot unmount', { path, reason });
    this.#server.close();
    this.#peers.close();
    await this.#thread.stop();
    const { owner, room } = runtimeFiles(this.#store.folder);
    removeRehearsals(this.#store.folder, owner);
    giveRoom(room);
    if (this.#care.giveUpLog()) {
      this.#store.close();
      markClosed(runtimeFiles(this.#store.folder));
    }
    log('info', 'daemon ended');
  }

  threadDied(error: Error): void {
    if (!this.#stopping) fail(error);
  }
}

function fail(error: unknown): never {
  log('error', 'daemon failed', { error: describeError(error) });
  process.exit(1);
}
