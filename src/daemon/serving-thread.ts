import { Worker } from 'node:worker_threads';
import type {
  AttachRequest,
  KernelFeatures,
  MountUsage,
  ResumeRequest,
  ServerMessage,
  ServerRequest,
} from './messages.js';
import type { ServerData } from './server.js';

type Waiting = { resolve: (value: unknown) => void; reject: (error: Error) => void };
type Body<R = ServerRequest> = R extends ServerRequest ? Omit<R, 'id'> : never;

/** The main thread's side of the thread that serves the mounts. */
export class ServingThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;

  /**
   * @param ended told of mounts that the kernel ended
   * @param tellPeers has the other daemons of the store apply what was committed
   * @param died told when the thread is gone; its mounts are dead then
   */
  constructor(
    data: ServerData,
    ended: (mount: number) => void,
    tellPeers: () => Promise<void>,
    died: (error: Error) => void,
  ) {
    this.#worker = new Worker(new URL('./server.js', import.meta.url), { workerData: data });
    this.#worker.on('message', (message: ServerMessage) => {
      if (message.kind === 'ended') return ended(message.mount);
      if (message.kind === 'tellPeers') {
        const { telling } = message;
        tellPeers().then(() => this.#ask({ kind: 'peersTold', telling }));
        return;
      }
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error !== undefined) waiting?.reject(new Error(message.error));
      else waiting?.resolve(message.value);
    });
    let failure = new Error('the serving thread ended');
    this.#worker.on('error', (error) => {
      failure = error instanceof Error ? error : new Error(String(error));
    });
    this.#worker.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(failure);
      died(failure);
    });
  }

  attach(attach: AttachRequest): Promise<KernelFeatures> {
    return this.#ask({ kind: 'attach', attach }) as Promise<KernelFeatures>;
  }

  /** Goes on with the mounts of a process that died or left. */
  async resume(mounts: readonly ResumeRequest[]): Promise<void> {
    await this.#ask({ kind: 'resume', mounts });
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
