/** A message from the kernel that does not have the form that `linux/fuse.h` gives it. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}
