import type { MessageConnection } from 'vscode-jsonrpc/node.js';
import { describeError, log } from '../log.js';
import { connectControl } from './control-client.js';
import { catchUpRequest, greetRequest } from './control-protocol.js';
import { knownOwners, ownerIsAlive, type RuntimeFiles } from './runtime-files.js';

/** Longest that a save waits, in ms, for another daemon to tell its kernels. */
const PATIENCE = 2000;

/** The other daemons of this store, which serve it in other mount namespaces and must hear of every change at once. */
export class Peers {
  readonly #connections = new Set<MessageConnection>();
  readonly #counted: (count: number) => void;

  /** @param counted told how many there are, whenever that changes */
  constructor(counted: (count: number) => void) {
    this.#counted = counted;
  }

  /** Greets every daemon that serves the store already. */
  async greet(files: RuntimeFiles, answer: (rpc: MessageConnection) => void): Promise<void> {
    for (const owner of knownOwners(files)) {
      if (owner === files.owner || !ownerIsAlive(files, owner)) continue;
      const client = await connectControl(files.folder, `${owner}.sock`, answer);
      if (!client) continue;
      this.add(client.rpc);
      const greeted = client.rpc
        .sendRequest(greetRequest, files.owner)
        .catch((error: unknown) => log('warn', 'another daemon was not greeted', { error: describeError(error) }));
      // It may be stopped, or die before it answers; it is a peer once it goes on.
      await Promise.race([greeted, new Promise((resolve) => setTimeout(resolve, PATIENCE).unref())]);
    }
  }

  /** Remembers a daemon by its connection, until that closes. */
  add(rpc: MessageConnection): void {
    this.#connections.add(rpc);
    this.#counted(this.#connections.size);
    const gone = (): void => {
      if (this.#connections.delete(rpc)) this.#counted(this.#connections.size);
    };
    rpc.onClose(gone);
    rpc.onDispose(gone);
  }

  /** Has every other daemon apply what was committed, and tell its kernels. Never rejects: a daemon that is gone shows nothing. */
  async tell(): Promise<void> {
    const told = [...this.#connections].map((rpc) =>
      rpc
        .sendRequest(catchUpRequest)
        .catch((error: unknown) => log('warn', 'another daemon was not told', { error: describeError(error) })),
    );
    await Promise.race([Promise.all(told), new Promise((resolve) => setTimeout(resolve, PATIENCE).unref())]);
  }

  close(): void {
    for (const rpc of this.#connections) rpc.dispose();
  }
}
