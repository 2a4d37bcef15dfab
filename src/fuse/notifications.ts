import { EXPIRE_ONLY, Notify, Size } from './constants.js';

function message(code: number, length: number): { bytes: Buffer; view: DataView } {
  const bytes = Buffer.alloc(Size.OUT_HEADER + length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  view.setUint32(0, bytes.length, true);
  view.setInt32(4, code, true);
  return { bytes, view };
}

/** `fuse_notify_inval_inode_out` with offset -1: drops the cached attributes of a node, not its pages. */
export function invalidateAttributes(node: number): Buffer {
  const { bytes, view } = message(Notify.INVAL_INODE, 24);
  view.setBigUint64(16, BigInt(node), true);
  view.setBigInt64(24, -1n, true);
  return bytes;
}

/** `fuse_notify_inval_inode_out` from 0 to the end: drops attributes and pages of a node, mapped ones too. */
export function invalidatePages(node: number): Buffer {
  const { bytes, view } = message(Notify.INVAL_INODE, 24);
  view.setBigUint64(16, BigInt(node), true);
  return bytes;
}

/**
 * The same as `invalidateEntry`, but whoever has the file open or works in the folder keeps its name: the kernel asks again at
 * the next use of the name, and no more. Takes the directory's lock.
 */
export function expireEntry(parent: number, name: string): Buffer {
  const bytes = invalidateEntry(parent, name);
  bytes.writeUInt32LE(EXPIRE_ONLY, 28);
  return bytes;
}

/** `fuse_notify_inval_entry_out`: drops one cached name of a directory. Takes the directory's lock in the kernel. */
export function invalidateEntry(parent: number, name: string): Buffer {
  const encoded = Buffer.from(name);
  const { bytes, view } = message(Notify.INVAL_ENTRY, 16 + encoded.length + 1);
  view.setBigUint64(16, BigInt(parent), true);
  view.setUint32(24, encoded.length, true);
  encoded.copy(bytes, 32);
  return bytes;
}

/** FUSE_NOTIFY_RESEND: has the kernel send again what was read and never answered; takes no lock that a request holds. */
export function resendRequests(): Buffer {
  return message(Notify.RESEND, 0).bytes;
}

/** FUSE_NOTIFY_INC_EPOCH: drops every cached name of the mount; takes no lock. */
export function incrementEpoch(): Buffer {
  return message(Notify.INC_EPOCH, 0).bytes;
}
