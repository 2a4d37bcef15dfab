import { connect, type Socket } from 'node:net';
import { createMessageConnection, type MessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node.js';
import { isSystemError } from '../errors.js';
import { knownOwners, type RuntimeFiles, shortPath } from './runtime-files.js';
import { catchUpRequest } from './control-protocol.js';

/** A connection to a daemon's control socket. */
export interface ControlClient {
  readonly rpc: MessageConnection;
  close(): void;
}

/** Longest wait, in ms, for a daemon that is not of this namespace to apply a change. */
const PATIENCE = 5000;

/** Connects to a control socket; undefined when no daemon listens there. */
export async function connectControl(folder: string, name: string): Promise<ControlClient | undefined> {
  const short = openFolder(folder, name);
  if (!short) return undefined;
  try {
    const socket = await new Promise<Socket>((resolve, reject) => {
      const attempt = connect(short.path, () => resolve(attempt));
      attempt.on('error', reject);
    });
    const rpc = createMessageConnection(new StreamMessageReader(socket), new StreamMessageWriter(socket));
    socket.on('error', () => rpc.dispose());
    rpc.onError(() => socket.destroy());
    rpc.listen();
    return { rpc, close: () => (rpc.dispose(), socket.destroy(), undefined) };
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ECONNREFUSED', 'ENOTDIR')) return undefined;
    throw error;
  } finally {
    short.close();
  }
}

function openFolder(folder: string, name: string): ReturnType<typeof shortPath> | undefined {
  try {
    return shortPath(folder, name);
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** Has every daemon of the store apply what was just committed, and tell its kernels, before it returns (spec §4.1). */
export async function announceToDaemons(files: RuntimeFiles): Promise<void> {
  let owners: string[];
  try {
    owners = knownOwners(files);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return;
    throw error;
  }
  await Promise.all(
    owners.map(async (owner) => {
      const client = await connectControl(files.folder, `${owner}.sock`);
      if (!client) return;
      try {
        const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE).unref());
        await Promise.race([client.rpc.sendRequest(catchUpRequest), patience]);
      } finally {
        client.close();
      }
    }),
  );
}
