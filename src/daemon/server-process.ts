import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MendError } from '../errors.js';
import type { Native } from '../fuse/native.js';
import { PASSING } from './supervision.js';

/** The server's code is run from its first call as compiled code, which a process that lives for days can afford. */
const ENGINE_OPTIONS = ['--always-sparkplug', '--no-lazy-feedback-allocation', '--expose-gc'];
const SERVER = fileURLToPath(new URL('./serve.js', import.meta.url));

/** A process that serves, or is to. */
export interface Server {
  readonly child: ChildProcess;
  /** Our end of the socket that descriptors pass through. */
  socket: number;
  loaded: boolean;
  /** It was told to leave the mounts to another: its end is no wish to end all. */
  leaving: boolean;
  /** When it began to serve, in ms; 0 before. */
  serves: number;
}

/** Starts a server, which waits for its turn. */
export function startServer(native: Native, folder: string): Server {
  const pair = native.socketPair();
  if (typeof pair === 'number') throw new MendError(`cannot start a server: no sockets left (errno ${-pair})`);
  const [ours, theirs] = pair;
  const stdio: ('ignore' | 'inherit' | 'ipc' | number)[] = ['ignore', 'ignore', 'inherit', 'ipc'];
  stdio[PASSING] = theirs;
  const env = { ...process.env, MEND_STORE_DIR: folder };
  const child = spawn(process.execPath, [...ENGINE_OPTIONS, SERVER], { cwd: '/', env, stdio });
  native.closeDescriptor(theirs);
  return { child, socket: ours, loaded: false, leaving: false, serves: 0 };
}
