import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/** A loopback listener, and the network its callers live in. */
export interface Loopback {
  readonly listener: Server;
  readonly port: number;
  /** The command, to be run by root, that starts `command` inside the network. */
  enter(command: readonly string[]): string[];
  close(): Promise<void>;
}

/**
 * Runs inside a fresh network namespace: brings loopback up, listens there, hands the listening socket to the parent
 * (a socket stays in the namespace it was made in), and keeps the namespace alive until the parent lets go.
 */
const KEEPER = `
  const { spawnSync } = require('node:child_process');
  const up = spawnSync('ip', ['link', 'set', 'lo', 'up'], { stdio: 'inherit' });
  if (up.status !== 0) process.exit(1);
  const server = require('node:net').createServer();
  server.listen(0, '127.0.0.1', () => {
    process.send({ port: server.address().port }, server, () => server.close());
  });
  process.on('disconnect', () => process.exit(0));
`;

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

async function openNamespace(): Promise<Loopback> {
  const keeper = spawn('unshare', ['--net', process.execPath, '-e', KEEPER], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [message, listener] = await new Promise<[{ port: number }, Server]>((resolve, reject) => {
    keeper.once('message', (sent, handle) => resolve([sent as { port: number }, handle as Server]));
    keeper.once('error', reject);
    keeper.once('exit', (code) => reject(new Error(`a network namespace could not be made (status ${code})`)));
  });
  return {
    listener,
    port: message.port,
    enter: (command) => ['nsenter', `--net=/proc/${keeper.pid}/ns/net`, ...command],
    close: () => stop(keeper),
  };
}

/**
 * Opens a loopback listener. As root it lies in a network namespace of its own with nothing but loopback, so that a
 * program started through `enter` can reach nobody else; an ordinary user gets the machine's own loopback.
 */
export async function openLoopback(): Promise<Loopback> {
  if (process.getuid?.() === 0) return openNamespace();
  const listener = createServer();
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  return { listener, port, enter: (command) => [...command], close: async () => {} };
}
