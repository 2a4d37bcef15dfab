/** Bytes that are looked at to tell UTF-16 without a mark at its start. */
const SAMPLE = 4096;

/**
 * The text in a file of any encoding, for a search for secrets: UTF-16 with a mark (BOM) or with most of its characters
 * in ASCII, else UTF-8, in which what is no text is replaced and every piece of ASCII stays. Without a mark at its start.
 */
export function textOf(bytes: Buffer): string {
  const encoding = encodingOf(bytes);
  // A last half of a UTF-16 unit is left out.
  const whole = encoding === 'utf8' ? bytes : bytes.subarray(0, bytes.length - (bytes.length % 2));
  const text = encoding === 'utf16be' ? Buffer.from(whole).swap16().toString('utf16le') : whole.toString(encoding);
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

function encodingOf(bytes: Buffer): 'utf8' | 'utf16le' | 'utf16be' {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf16be';
  const zeros = [0, 0];
  const length = Math.min(bytes.length, SAMPLE);
  for (let i = 0; i < length; i++) if (bytes[i] === 0) zeros[i % 2] = (zeros[i % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros.map((count) => count / (length / 2));
  if (odd > 0.5 && even < 0.1) return 'utf16le';
  return even > 0.5 && odd < 0.1 ? 'utf16be' : 'utf8';
}
