import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { errnoOf } from '../../src/fuse/errno.js';

const coded = (code: unknown): Error => Object.assign(new Error('x'), { code });

test.each([
  ['ENOENT', constants.errno.ENOENT],
  ['EDQUOT', constants.errno.EDQUOT],
  ['SQLITE_FULL', constants.errno.ENOSPC],
  ['SQLITE_IOERR_SHMSIZE', constants.errno.ENOSPC],
  ['SQLITE_IOERR_WRITE', constants.errno.EIO],
  ['SQLITE_READONLY_DBMOVED', constants.errno.EROFS],
  ['SQLITE_BUSY_SNAPSHOT', constants.errno.EAGAIN],
  ['SQLITE_CONSTRAINT', constants.errno.EIO],
  ['ERR_OUT_OF_RANGE', constants.errno.EIO],
  [7, constants.errno.EIO],
])('an error with the code %s is errno %i', (code, expected) => {
  expect(errnoOf(coded(code))).toBe(expected);
});

test.each([[new TypeError('x')], ['a string'], [undefined], [null], [{ code: 'ENOENT' }]])('%s is EIO', (thrown) => {
  expect(errnoOf(thrown)).toBe(constants.errno.EIO);
});
