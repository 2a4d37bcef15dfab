import { readFileSync, writeSync } from 'node:fs';

/**
 * The entry of a process that gives a kernel the notifications on its standard input, one after the other: descriptor 3
 * is the mount's. Each begins with its length (`fuse_out_header`).
 */
const FUSE = 3;
const messages = readFileSync(0);
for (let at = 0; at < messages.length; ) {
  const length = messages.readUInt32LE(at);
  try {
    writeSync(FUSE, messages, at, length);
  } catch (error) {
    // It does not know the name or the node.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  at += length;
}
