import { createRequire } from 'node:module';
import { MendError } from '../errors.js';

/** A watched descriptor; belongs to the addon. */
export type NativeChannel = { readonly __channel: unique symbol };

/** The functions of native/mend.c; see native/README.md. Negative results are `-errno`. */
export interface Native {
  socketPair(): [ours: number, theirs: number] | number;
  receiveDescriptor(socket: number): number;
  sendDescriptor(socket: number, fd: number): number;
  closeDescriptor(fd: number): number;
  lockFile(fd: number): number;
  peerProcess(socket: number): number;
  adoptOrphans(): number;
  buryOrphans(own: number): number;
  startProgram(file: Buffer, args: Buffer[], env: Buffer[], folder: Buffer, descriptors: number[]): number;
  watchGroup(argumentsAt: number, length: number): [pid: number, fd: number] | number;
  exitAtOnce(status: number): never;
  endBySignal(signal: number): never;
  shareLock(fd: number): number;
  receive(fd: number, buffer: Buffer): number;
  send(fd: number, head: Buffer, headLength: number, tail?: Buffer, tailOffset?: number, tailLength?: number): number;
  watch(fd: number, onReadable: (status: number) => void): NativeChannel | number;
  unwatch(channel: NativeChannel): void;
  notify(channel: NativeChannel, message: Buffer, done: (result: number) => void): number;
}

const CANDIDATES = [`../../native/prebuilt/${process.arch}/mend.node`, '../../native/build/Release/mend.node'];

let loaded: Native | undefined;

/**
 * Loads the addon: a prebuilt one for this processor, else the one that `npm run build` compiled.
 * @throws {MendError} when there is none.
 */
export function loadNative(): Native {
  if (loaded) return loaded;
  const require = createRequire(import.meta.url);
  let cause: unknown;
  for (const path of CANDIDATES) {
    try {
      loaded = require(path) as Native;
      return loaded;
    } catch (error) {
      cause = error;
    }
  }
  throw new MendError('the FUSE addon is not built: install a C compiler and run "npm run build"', { cause });
}
