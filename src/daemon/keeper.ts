import { loadNative } from '../fuse/native.js';
import { log } from '../log.js';
import { type HeldEntry, type HeldMount, PASSING, type ServerSays, type SupervisorSays } from './supervision.js';

/** How long, in ms, to wait before the socket is looked at again. */
const PAUSE = 1;

/** What the supervisor kept: an earlier server had it. */
export interface Inheritance {
  readonly held: readonly (HeldEntry & { readonly fd: number })[];
  readonly lost: readonly HeldMount[];
  /** Times that a server died before this one. */
  readonly deaths: number;
}

/** The server's side of the supervisor that started it, which keeps its descriptors. */
export class Keeper {
  readonly #native = loadNative();
  readonly #waiting = new Map<string, () => void>();
  readonly #pid = process.ppid;
  /** Told to leave the mounts to another server. */
  onLeave: () => void = () => undefined;
  /** Told that no other server could be started; rejects what all who wait for one wait for. */
  #onNotReplaced: (error: Error) => void = () => undefined;
  #replacing: Promise<never> | undefined;
  readonly #went: Promise<Extract<SupervisorSays, { kind: 'go' }>>;

  constructor() {
    this.#went = new Promise((resolve) => {
      process.on('message', (message: SupervisorSays) => {
        if (message.kind === 'go') resolve(message);
        else if (message.kind === 'leave') this.onLeave();
        else if (message.kind === 'notReplaced') this.#onNotReplaced(new Error(message.reason));
        else this.#waiting.get(message.key)?.();
      });
    });
    let isServing = false;
    this.#went.then(() => {
      isServing = true;
    });
    process.on('disconnect', () => {
      if (!isServing) process.exit(0);
      log('warn', 'the supervisor is gone: mounts are served on, and end with this process');
      for (const done of this.#waiting.values()) done();
      this.#onNotReplaced(new Error('the supervisor is gone'));
    });
  }

  /** Process id of the supervisor, null when it is gone. */
  get pid(): number | null {
    return process.connected ? this.#pid : null;
  }

  /** Says that everything is loaded, and waits until it is this server's turn. */
  async turn(): Promise<Inheritance> {
    // It went before this process could hear of it.
    if (!process.connected) process.exit(0);
    this.#say({ kind: 'loaded' });
    const { held, lost, deaths } = await this.#went;
    const received: (HeldEntry & { fd: number })[] = [];
    for (const entry of held) {
      let fd = this.#native.receiveDescriptor(PASSING);
      for (; fd < 0 && process.connected; fd = this.#native.receiveDescriptor(PASSING))
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      received.push({ ...entry, fd });
    }
    return { held: received, lost, deaths };
  }

  /** Gives the supervisor a copy of a descriptor; resolves when it has it. */
  async hold(entry: HeldEntry, fd: number): Promise<void> {
    if (!process.connected) return;
    const code = this.#native.sendDescriptor(PASSING, fd);
    if (code < 0) log('error', 'the supervisor takes no descriptor', { errno: -code });
    else await this.#answer(entry.key, { kind: 'hold', ...entry });
  }

  /** Has the supervisor close its copy. */
  async drop(key: string): Promise<void> {
    if (process.connected) await this.#answer(key, { kind: 'drop', key });
  }

  /**
   * Has another server started, in the place of this one, which ends then: rejects when that did not go well. Who asks
   * while one starts waits for the same one.
   */
  replace(): Promise<never> {
    this.#replacing ??= new Promise<never>((_, reject) => {
      this.#onNotReplaced = reject;
      this.#say({ kind: 'replace' });
    }).finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  /** Says, when told to leave, that this server has to go on instead. */
  stay(reason: string): void {
    this.#say({ kind: 'stay', reason });
  }

  /** Says that nothing happens any more, or that something does again. */
  rests(rests: boolean): void {
    this.#say({ kind: 'rests', rests });
  }

  /** Passes words on to whoever started the daemon. */
  async tell(words: string): Promise<void> {
    await new Promise<void>((resolve) => {
      if (!process.send || !process.connected) return resolve();
      process.send({ kind: 'words', words } satisfies ServerSays, undefined, undefined, () => resolve());
    });
  }

  #answer(key: string, message: ServerSays): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(key, () => {
        this.#waiting.delete(key);
        resolve();
      });
      this.#say(message);
    });
  }

  #say(message: ServerSays): void {
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
  }
}
