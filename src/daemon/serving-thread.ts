import { Worker } from 'node:worker_threads';
import type {
  AttachRequest,
  KernelFeatures,
  MountUsage,
  ResumeRequest,
  ServerData,
  ServerMessage,
  ServerRequest,
} from './messages.js';

type Waiting = { resolve: (value: unknown) => void; reject: (error: Error) => void };
/** What a server takes over: mounts to serve, and those that were taken off meanwhile. */
export interface Adopted {
  readonly mounts: readonly ResumeRequest[];
  readonly departed: readonly ResumeRequest[];
}

type Body<R = ServerRequest> = R extends ServerRequest ? Omit<R, 'id'> : never;

/** The main thread's side of the thread that serves the mounts. */
export class ServingThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;
  /** Told of mounts that the kernel ended. */
  ended: (mount: number) => void = () => undefined;
  /** Has the other daemons of the store apply what was committed. */
  tellPeers: () => Promise<void> = () => Promise.resolve();
  /** Told when nothing happens any more, and when something does again. */
  rests: (rests: boolean) => void = () => undefined;
  /** Told when the thread is gone; it serves nothing then. */
  died: (error: Error) => void = () => undefined;
  /** Resolves when its code is loaded. */
  readonly loaded: Promise<void>;

  constructor() {
    this.#worker = new Worker(new URL('./serving-worker.js', import.meta.url));
    let isLoaded = (): void => undefined;
    this.loaded = new Promise((resolve) => {
      isLoaded = resolve;
    });
    this.#worker.on('message', (message: ServerMessage) => {
      if (message.kind === 'loaded') return isLoaded();
      if (message.kind === 'rests') return this.rests(message.rests);
      if (message.kind === 'ended') return this.ended(message.mount);
      if (message.kind === 'tellPeers') {
        const { telling } = message;
        this.tellPeers().then(() => this.#ask({ kind: 'peersTold', telling }));
        return;
      }
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error !== undefined)
        waiting?.reject(Object.assign(new Error(message.error), message.code && { code: message.code }));
      else waiting?.resolve(message.value);
    });
    let failure = new Error('the serving thread ended');
    this.#worker.on('error', (error) => {
      failure = error instanceof Error ? error : new Error(String(error));
    });
    this.#worker.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(failure);
      this.died(failure);
    });
  }

  /** Begins; resolves when the store is open. */
  async start(data: ServerData): Promise<void> {
    await this.#ask({ kind: 'start', data });
  }

  attach(attach: AttachRequest): Promise<KernelFeatures> {
    return this.#ask({ kind: 'attach', attach }) as Promise<KernelFeatures>;
  }

  /** Goes on with the mounts of a process that died or left. */
  async resume({ mounts, departed }: Adopted): Promise<void> {
    await this.#ask({ kind: 'resume', mounts, departed });
  }

  /** Leaves the mounts to another process; resolves when nothing more is read, and all that was read is answered. */
  async rest(): Promise<void> {
    await this.#ask({ kind: 'rest' });
  }

  async detach(mount: number): Promise<void> {
    await this.#ask({ kind: 'detach', mount });
  }

  /** Has the thread apply what others committed, and tell its kernels. */
  async catchUp(): Promise<void> {
    await this.#ask({ kind: 'catchUp' });
  }

  held(): Promise<readonly number[]> {
    return this.#ask({ kind: 'held' }) as Promise<readonly number[]>;
  }

  usage(): Promise<readonly MountUsage[]> {
    return this.#ask({ kind: 'usage' }) as Promise<readonly MountUsage[]>;
  }

  async setPeers(count: number): Promise<void> {
    await this.#ask({ kind: 'peers', count });
  }

  async stop(): Promise<void> {
    await this.#ask({ kind: 'stop' });
    await this.#worker.terminate();
  }

  #ask(body: Body): Promise<unknown> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...body, id });
    });
  }
}
