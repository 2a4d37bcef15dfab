import { expect, test } from 'vitest';
import { sized } from '../../src/cli/output.js';

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [1025, '2 KB'],
  [1.5 * 1024 ** 2, '1.5 MB'],
  [32 * 1024 ** 2, '32 MB'],
  [1024 ** 3, '1 GB'],
  [250.25 * 1024 ** 3, '250.3 GB'],
])('%d bytes are said to be %s', (bytes, text) => {
  expect(sized(bytes)).toBe(text);
});
