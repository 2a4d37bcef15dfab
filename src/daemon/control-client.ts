import { connect, type Socket } from 'node:net';
import { createMessageConnection, type MessageConnection } from 'vscode-jsonrpc/node.js';
import { isSystemError, MendError } from '../errors.js';
import { catchUpRequest } from './control-protocol.js';
import { ControlReader, ControlWriter } from './control-streams.js';
import { isLocked, knownOwners, type RuntimeFiles, shortPath } from './runtime-files.js';

/** A connection to a daemon's control socket. */
export interface ControlClient {
  readonly rpc: MessageConnection;
  /** Resolves when the daemon is gone, or `close` was called. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Longest wait, in ms, for a daemon that is not of this namespace to apply a change. */
const PATIENCE = 5000;

/**
 * Connects to a control socket; undefined when no daemon listens there.
 * @param answer prepares what this side answers, before anything is read
 */
export async function connectControl(
  folder: string,
  name: string,
  answer?: (rpc: MessageConnection) => void,
): Promise<ControlClient | undefined> {
  const short = openFolder(folder, name);
  if (!short) return undefined;
  try {
    const socket = await new Promise<Socket>((resolve, reject) => {
      const attempt = connect(short.path, () => resolve(attempt));
      attempt.on('error', reject);
    });
    const reader = new ControlReader(socket);
    const rpc = createMessageConnection(reader, new ControlWriter(socket, reader));
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => socket.destroy());
    rpc.onError(() => socket.destroy());
    answer?.(rpc);
    rpc.listen();
    return { rpc, closed, close: () => socket.destroy() };
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ECONNREFUSED', 'ENOTDIR')) return undefined;
    throw error;
  } finally {
    short.close();
  }
}

/** Longest wait, in ms, for a daemon that starts, ends, or has another server take over. */
const CHANGING = 15_000;
/** Wait, in ms, before looking for it again. */
const PAUSE = 25;

/** Connects to the daemon of an owner; undefined when none serves, which is certain only once its lock is free. */
export async function connectServing(files: RuntimeFiles, owner: string): Promise<ControlClient | undefined> {
  for (const end = Date.now() + CHANGING; Date.now() < end; ) {
    const client = await connectControl(files.folder, `${owner}.sock`);
    if (client || !isLocked(files, owner)) return client;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  return undefined;
}

function openFolder(folder: string, name: string): ReturnType<typeof shortPath> | undefined {
  try {
    return shortPath(folder, name);
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined;
    throw error;
  }
}

/** Longest wait, in ms, for every daemon to confirm what must not be missed. */
const SURELY = 60_000;

/** Has every daemon of the store apply what was just committed, and tell its kernels, before it returns (spec §4.1). */
export async function announceToDaemons(files: RuntimeFiles): Promise<void> {
  await Promise.all(
    ownersOf(files).map(async (owner) => {
      const client = await connectServing(files, owner);
      if (!client) return;
      try {
        const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE).unref());
        await Promise.race([client.rpc.sendRequest(catchUpRequest), client.closed, patience]);
      } finally {
        client.close();
      }
    }),
  );
}

/**
 * The same for what must not be missed: a daemon that dies or is replaced meanwhile is asked again.
 * @returns false when one did not answer for a minute
 */
export async function announceSurely(files: RuntimeFiles): Promise<boolean> {
  const end = Date.now() + SURELY;
  const confirmed = async (owner: string): Promise<boolean> => {
    while (Date.now() < end) {
      const client = await connectServing(files, owner);
      if (!client) return true;
      try {
        const asked = client.rpc.sendRequest(catchUpRequest).then(
          () => true,
          () => false,
        );
        const patience = new Promise<boolean>((resolve) => setTimeout(resolve, end - Date.now(), false).unref());
        if (await Promise.race([asked, client.closed.then(() => false), patience])) return true;
      } finally {
        client.close();
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
    return false;
  };
  return (await Promise.all(ownersOf(files).map(confirmed))).every((done) => done);
}

function ownersOf(files: RuntimeFiles): string[] {
  try {
    return knownOwners(files);
  } catch (error) {
    // No daemon of this person can be in a folder that is none, or not theirs.
    if (error instanceof MendError || isSystemError(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}
