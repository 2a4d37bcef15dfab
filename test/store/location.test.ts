import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MendError } from '../../src/errors.js';
import { storeExists, storeFolder } from '../../src/store/location.js';
import { freshFolder, openStore } from './fresh-store.js';

/** A user for whom no administrator made a folder. */
const UID = 4_000_000_001;

test.each([
  ['named', { MEND_STORE_DIR: '/srv/mend', XDG_DATA_HOME: '/data', HOME: '/home/u' }, '/srv/mend'],
  ['XDG_DATA_HOME', { XDG_DATA_HOME: '/data', HOME: '/home/u' }, `/data/mend/${UID}`],
  [
    'a relative XDG_DATA_HOME counts for nothing',
    { XDG_DATA_HOME: 'data', HOME: '/home/u' },
    `/home/u/.local/share/mend/${UID}`,
  ],
  [
    'empty variables are as if not set',
    { MEND_STORE_DIR: '', XDG_DATA_HOME: '', HOME: '/home/u' },
    `/home/u/.local/share/mend/${UID}`,
  ],
  ['no HOME', {}, join(homedir(), `.local/share/mend/${UID}`)],
])('%s', (_, env, folder) => {
  expect(existsSync(`/var/lib/mend/${UID}`)).toBe(false);
  expect(storeFolder(env, UID)).toBe(folder);
});

test.each(['mend', './mend', '~/mend'])('a relative MEND_STORE_DIR (%s) is a usage error', (value) => {
  let thrown: unknown;
  try {
    storeFolder({ MEND_STORE_DIR: value, HOME: '/home/u' }, UID);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(MendError);
  expect(thrown).toMatchObject({
    kind: 'usage',
    message: expect.stringMatching(/^MEND_STORE_DIR must be an absolute path: /),
  });
});

test('a store exists once its file does', () => {
  const folder = freshFolder();
  expect(storeExists(join(folder, 'none'))).toBe(false);
  expect(storeExists(folder)).toBe(false);
  openStore(folder);
  expect(storeExists(folder)).toBe(true);
});
