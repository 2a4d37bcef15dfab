import type { ServerMessage } from './messages.js';

/** The serving thread's way to the other daemons of the store, which the main thread knows. */
export class PeerTelling {
  /** How many there are. */
  count = 0;
  readonly #send: (message: ServerMessage) => void;
  readonly #waiting = new Map<number, () => void>();
  #last = 0;

  constructor(send: (message: ServerMessage) => void) {
    this.#send = send;
  }

  /** Resolves when the others have told their kernels of what was committed; undefined when there are none. */
  tell(): Promise<void> | undefined {
    if (this.count === 0) return undefined;
    const telling = ++this.#last;
    return new Promise((resolve) => {
      this.#waiting.set(telling, resolve);
      this.#send({ kind: 'tellPeers', telling });
    });
  }

  told(telling: number): void {
    this.#waiting.get(telling)?.();
    this.#waiting.delete(telling);
  }
}
