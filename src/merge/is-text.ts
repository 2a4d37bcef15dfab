import { isUtf8 } from 'node:buffer';

/** Tells whether bytes are text: valid UTF-8 without NUL. */
export function isText(bytes: Buffer): boolean {
  return !bytes.includes(0) && isUtf8(bytes);
}
