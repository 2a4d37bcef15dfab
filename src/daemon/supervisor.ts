import { writeFileSync } from 'node:fs';
import { loadNative } from '../fuse/native.js';
import { describeError, log } from '../log.js';
import { ANOTHER_SERVES, NO_ROOM, READY } from './readiness.js';
import { runtimeFiles } from './runtime-files.js';
import { type Server, startServer } from './server-process.js';
import type { HeldData, HeldMount, ServerSays, SupervisorSays } from './supervision.js';

/** A server that dies within this time, in ms, after it began to serve has died at once. */
const AT_ONCE = 1000;
/** Deaths at once, one after the other, from which on the next start waits, in ms, twice as long each time. */
const PATIENT = 3;
const WAIT = 25;
const WAIT_MOST = 2000;
/** The same where somebody kills it (SIGKILL): that is no fault that comes again, and calls wait. */
const WAIT_KILLED = 50;
/** Deaths at once, SIGKILL aside, after which no other server is started. */
const LIMIT = 12;
/**
 * How long, in ms, a server has served when a spare one is loaded; at once where one has died already. With it a pause
 * is as short as the store is quick to open; it costs some memory.
 */
const SPARE_AFTER = 10_000;
/** How long, in ms, nothing happens until there is none, and its memory is given back. */
const UNUSED = 30_000;
/** How long, in ms, a server may take to load its code that is to take the place of another. */
const LOADING = 30_000;
/** How long, in ms, a server may take to end in order. */
const ENDING = 30_000;
/** How long, in ms, to wait before a full socket is tried again. */
const PAUSE = 1;

interface Held {
  readonly fd: number;
  readonly data: HeldData;
}

/**
 * Keeps the descriptors of the mounts, and starts another server on them when one dies: the kernel sends again what was
 * not answered. Does nothing else, so that nothing can go wrong in it.
 */
export class Supervisor {
  readonly #native = loadNative();
  readonly #folder: string;
  readonly #tell: (words: string) => void;
  readonly #ends: (status: number) => void;
  readonly #held = new Map<string, Held>();
  #lost: HeldMount[] = [];
  #server: Server;
  /** A server that is to take the place of the other. */
  #next: Server | undefined;
  /** A server that is loaded and waits for the other to die. */
  #spare: Server | undefined;
  /** Ends the spare one; there while nothing happens. */
  #unused: NodeJS.Timeout | undefined;
  #deaths = 0;
  #deathsAtOnce = 0;
  /** Those of them that nobody wanted: by a fault, not by SIGKILL, nor for want of room on the disk. */
  #faults = 0;
  #isEnding = false;
  #hasServed = false;
  /** Why the last server that did not start did not. */
  #reason = '';

  /**
   * @param tell told once that the daemon serves, or why not
   * @param ends told that there is nothing left to supervise, with an exit status
   */
  constructor(folder: string, tell: (words: string) => void, ends: (status: number) => void) {
    this.#folder = folder;
    this.#tell = tell;
    this.#ends = ends;
    this.#server = this.#start();
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => this.#endInOrder());
  }

  #start(): Server {
    const server = startServer(this.#native, this.#folder);
    const { child } = server;
    child.on('message', (message) => this.#hear(server, message as ServerSays));
    child.on('error', (error) => log('error', 'server', { error: describeError(error) }));
    child.on('exit', (code, signal) => this.#ended(server, code, signal));
    return server;
  }

  #say({ child }: Server, message: SupervisorSays): void {
    if (child.connected) child.send(message, () => undefined);
  }

  #hear(server: Server, message: ServerSays): void {
    switch (message.kind) {
      case 'loaded':
        server.loaded = true;
        if (server === this.#server) this.#go(server);
        else if (server === this.#next) {
          this.#server.leaving = true;
          this.#say(this.#server, { kind: 'leave' });
        }
        return;
      case 'hold': {
        // It is dead, and its descriptors with it.
        if (server.socket < 0) return;
        const fd = this.#native.receiveDescriptor(server.socket);
        if (fd < 0) log('error', 'a descriptor did not arrive', { errno: -fd });
        else this.#held.set(message.key, { fd, data: message.data });
        this.#say(server, { kind: 'held', key: message.key });
        return;
      }
      case 'drop':
        this.#drop(message.key);
        this.#say(server, { kind: 'dropped', key: message.key });
        return;
      case 'words':
        if (message.words === READY) {
          server.serves = Date.now();
          this.#lost = [];
          this.#hasServed = true;
          this.#keepSpareSoon(server, this.#deaths > 0 ? 0 : SPARE_AFTER);
        }
        this.#reason = message.words === READY ? '' : ` (${message.words})`;
        this.#tell(message.words);
        return;
      case 'rests':
        if (server === this.#server) this.#turned(message.rests);
        return;
      case 'replace':
        // The spare one may have been loaded before an upgrade.
        this.#spare?.child.kill('SIGKILL');
        this.#next ??= this.#startNext();
        return;
      case 'stay':
        server.leaving = false;
        this.#giveUpNext(message.reason);
        return;
    }
  }

  #drop(key: string): void {
    const held = this.#held.get(key);
    if (held) this.#native.closeDescriptor(held.fd);
    this.#held.delete(key);
  }

  /** Passes a server everything that is kept, and lets it serve. */
  async #go(server: Server): Promise<void> {
    const held = [...this.#held].map(([key, { data }]) => ({ key, data }));
    this.#say(server, { kind: 'go', held, lost: this.#lost, deaths: this.#deaths });
    for (const { fd } of [...this.#held.values()]) {
      // Once it has ended, the number of its socket may be that of another.
      while (server.socket >= 0 && this.#native.sendDescriptor(server.socket, fd) !== 0)
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  #ended(server: Server, code: number | null, signal: NodeJS.Signals | null): void {
    this.#native.closeDescriptor(server.socket);
    server.socket = -1;
    if (server === this.#spare) {
      this.#spare = undefined;
      return;
    }
    if (server === this.#next) {
      this.#next = undefined;
      // One that was told to leave ends, and another is started then.
      if (!this.#server.leaving) this.#notReplaced('the new one did not start; see daemon.log');
      return;
    }
    // One that was given up.
    if (server !== this.#server) return;
    if (this.#isEnding || (code === 0 && !this.#next && !server.leaving)) this.#end(0);
    // It has told why it did not start.
    else if (this.#held.size === 0 || !this.#hasServed) this.#end(1);
    else this.#replace(server, code, signal);
  }

  #replace(server: Server, code: number | null, signal: NodeJS.Signals | null): void {
    if (code !== 0) this.#died(server, code, signal);
    if (this.#next) {
      this.#take(this.#next);
      this.#next = undefined;
    } else if (this.#faults >= LIMIT) this.#giveUp();
    else this.#startAgain(signal === 'SIGKILL');
  }

  #died({ serves }: Server, code: number | null, signal: NodeJS.Signals | null): void {
    this.#deaths++;
    const isAtOnce = serves === 0 || Date.now() - serves <= AT_ONCE;
    this.#deathsAtOnce = isAtOnce ? this.#deathsAtOnce + 1 : 0;
    // Calls wait until there is room on the disk again.
    const isFault = signal !== 'SIGKILL' && code !== NO_ROOM;
    this.#faults = isAtOnce ? this.#faults + (isFault ? 1 : 0) : 0;
    log('warn', 'the server died', { code: code ?? -1, signal: signal ?? '', deaths: this.#deaths });
    for (const [key, { data }] of [...this.#held]) {
      if (data.kind !== 'mount' || data.features.resend) continue;
      // Its last descriptor: the kernel ends the connection, and every call that waits in it.
      this.#drop(key);
      this.#lost.push(data);
      log('warn', 'this kernel cannot send requests again: calls under way fail, and it is mounted anew', {
        path: data.path,
      });
    }
  }

  #startAgain(isKilled: boolean): void {
    const turn = this.#deathsAtOnce - PATIENT;
    const most = isKilled ? WAIT_KILLED : WAIT_MOST;
    const wait = turn < 0 ? 0 : Math.min(most, WAIT * 2 ** turn);
    setTimeout(() => {
      if (this.#isEnding) return;
      this.#take(this.#spare ?? this.#start());
      // Where one dies before it serves, the next is under way already: however often that happens, one comes to serve.
      if (this.#deathsAtOnce > 1) this.#keepSpareSoon(this.#server, 0);
    }, wait);
  }

  /** Lets a server serve as soon as it can. */
  #take(server: Server): void {
    if (server === this.#spare) this.#spare = undefined;
    this.#server = server;
    // Whether it rests it says itself.
    clearTimeout(this.#unused);
    this.#unused = undefined;
    if (server.loaded) this.#go(server);
  }

  #keepSpareSoon(server: Server, after: number): void {
    setTimeout(() => {
      const isWanted = server === this.#server && this.#unused === undefined && !this.#isEnding && !this.#next;
      if (isWanted) this.#spare ??= this.#start();
    }, after).unref();
  }

  #turned(rests: boolean): void {
    clearTimeout(this.#unused);
    this.#unused = rests ? setTimeout(() => this.#spare?.child.kill('SIGKILL'), UNUSED).unref() : undefined;
    if (!rests) this.#keepSpareSoon(this.#server, SPARE_AFTER);
  }

  /** Starts a server that is to take the place of the one that serves, if it is there in time. */
  #startNext(): Server {
    const next = this.#start();
    const isLate = (): void => {
      if (next === this.#next && !next.loaded) this.#giveUpNext('the new one took too long to start');
    };
    setTimeout(isLate, LOADING).unref();
    return next;
  }

  #giveUpNext(reason: string): void {
    this.#next?.child.kill('SIGKILL');
    this.#next = undefined;
    this.#notReplaced(reason);
  }

  #notReplaced(reason: string): void {
    this.#say(this.#server, { kind: 'notReplaced', reason });
  }

  /** Ends the connections: whoever waits gets an error in place of an answer that never comes. */
  #giveUp(): void {
    const words = `the server died ${LIMIT} times in a row as soon as it began to serve${this.#reason}: see daemon.log in the folder of the store`;
    log('error', 'mounts are given up', { reason: words, mounts: this.#held.size - 1 });
    try {
      writeFileSync(runtimeFiles(this.#folder).failure, `${words}\n`, { mode: 0o600 });
    } catch (error) {
      log('error', 'cannot leave word of that', { error: describeError(error) });
    }
    this.#end(1);
  }

  #endInOrder(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { child } = this.#server;
    if (child.exitCode !== null || child.signalCode !== null) this.#end(0);
    else child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), ENDING).unref();
  }

  /** The kernel ends each connection with its last descriptor. */
  #end(status: number): void {
    this.#isEnding = true;
    for (const other of [this.#spare, this.#next]) other?.child.kill('SIGKILL');
    for (const key of [...this.#held.keys()]) this.#drop(key);
    this.#tell(ANOTHER_SERVES);
    this.#ends(status);
  }
}
