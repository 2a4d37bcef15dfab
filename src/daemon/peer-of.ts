import type { Socket } from 'node:net';
import { loadNative } from '../fuse/native.js';

/** The process that connected a socket, as the kernel knows it; 0 when that cannot be told. */
export function peerOf(socket: Socket): number {
  // Node.js has no public name for the descriptor of a socket.
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: number } | null };
  const pid = typeof handle?.fd === 'number' ? loadNative().peerProcess(handle.fd) : 0;
  return Math.max(0, pid);
}
