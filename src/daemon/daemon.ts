import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createMessageConnection, type MessageConnection, ResponseError } from 'vscode-jsonrpc/node.js';
import { MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import { readMachine } from '../project/machine.js';
import { identityOf } from '../store/identity.js';
import { STORE_FILE } from '../store/location.js';
import { displaced } from '../store/place.js';
import { tidyReplaced } from '../store/replace-store.js';
import { Store } from '../store/store.js';
import {
  catchUpRequest,
  type DaemonStatus,
  FOR_PEOPLE,
  greetRequest,
  mountRequest,
  replaceRequest,
  statusRequest,
  unmountRequest,
} from './control-protocol.js';
import { ControlReader, ControlWriter } from './control-streams.js';
import type { Inheritance, Keeper } from './keeper.js';
import { listen } from './listen.js';
import { Mounter } from './mounter.js';
import { Peers } from './peers.js';
import { recoverDrafts, removeUnfinished } from './recovery.js';
import { removeRehearsals } from './rehearsal.js';
import { knownOwners, ownerIsAlive, runtimeFiles, takeLock } from './runtime-files.js';
import type { ServingThread } from './serving-thread.js';
import { readSettings } from './settings.js';
import { giveRoom } from './spare-room.js';
import { StoreCare } from './store-care.js';
import { giveRoomOf, inspectionOf, markClosed, markOpen, settleStops } from './unclean-stop.js';
import { version } from './version.js';

/** The process that serves one person's mounts of one store: control socket, mounts, and the thread that serves them. */
export class Daemon {
  readonly #store: Store;
  readonly #thread: ServingThread;
  readonly #mounter: Mounter;
  readonly #server: Server;
  readonly #care: StoreCare;
  readonly #peers: Peers;
  readonly #keeper: Keeper;
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
    const { limits } = readSettings(process.env);
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
    thread.died = (error) => (daemon ? daemon.threadDied(error) : fail(error));
    const takesOver = resumed.length > 0;
    const begun = thread.start({ folder, owner, machine: readMachine(folder), limits, journal, takesOver });
    const peers = new Peers((count) => thread.setPeers(count));
    const mounter = new Mounter(store, thread, peers, limits, files, keeper);
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
    socket.on('error', () => rpc.dispose());
    socket.on('close', () => rpc.dispose());
    rpc.onError(() => socket.destroy());
    rpc.onRequest(mountRequest, (request) => forPeople(() => this.#mounter.mount(request)));
    rpc.onRequest(unmountRequest, ({ paths, force }) => forPeople(() => this.#mounter.unmount(paths, force)));
    rpc.onRequest(statusRequest, () => forPeople(() => this.#status()));
    rpc.onRequest(replaceRequest, () => forPeople(() => this.#replace()));
    this.#answerCatchUp(rpc);
    rpc.onRequest(greetRequest, () => {
      // Another daemon stays connected for as long as it lives; that alone is no reason to go on.
      this.#connected.delete(socket);
      this.#peers.add(rpc);
      return null;
    });
    rpc.listen();
  }

  #answerCatchUp(rpc: MessageConnection): void {
    rpc.onRequest(catchUpRequest, () => forPeople(() => this.#thread.catchUp().then(() => null)));
  }

  async #status(): Promise<DaemonStatus> {
    const usage = new Map((await this.#thread.usage()).map((row) => [row.mount, row]));
    const projects = new Map(
      this.#store.projects.list(this.#store.machine).map((project) => [project.id, project.name]),
    );
    const { mounts } = this.#mounter;
    const features = mounts[0]?.features;
    return {
      version,
      pid: process.pid,
      supervisor_pid: this.#keeper.pid,
      // In force only while somebody is there to start another server.
      kernel: { protocol: features?.protocol ?? null, resend: this.#keeper.pid !== null && features?.resend === true },
      sessions: [...new Set([...usage.values()].flatMap((row) => row.sessions))].sort(),
      mounts: mounts.map(({ id, path, tree }) => {
        const row = usage.get(id);
        return {
          path,
          project: projects.get(tree.project) ?? '',
          harness: tree.harness,
          files: row?.files ?? 0,
          bytes: row?.bytes ?? 0,
          limit_files: row?.limitFiles ?? 0,
          limit_bytes: row?.limitBytes ?? 0,
          refused: row?.refused ?? null,
        };
      }),
    };
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
    const { failed } = await this.#mounter.unmount(undefined, true);
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

/** Turns an error for people into an answer that carries its sentence; any other is a fault of ours and is logged. */
async function forPeople<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof MendError) throw new ResponseError(FOR_PEOPLE, error.message);
    log('error', 'request failed', { error: describeError(error) });
    throw new ResponseError(
      FOR_PEOPLE,
      `the daemon failed: ${error instanceof Error ? error.message : String(error)}; see daemon.log in the store's folder`,
    );
  }
}

function fail(error: unknown): never {
  log('error', 'daemon failed', { error: describeError(error) });
  process.exit(1);
}
