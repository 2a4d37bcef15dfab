import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type PosixCase, put, refuses, text, textOf, withFd } from '../posix-case.js';

export const truncate: PosixCase[] = [
  {
    name: 'ftruncate shrinks',
    run(dir) {
      const file = put(dir, 'a.md', 'abcdef');
      withFd(file, 'r+', (fd) => {
        fs.ftruncateSync(fd, 3);
        assert.equal(fs.fstatSync(fd).size, 3);
        assert.equal(textOf(fd), 'abc');
      });
      assert.equal(text(file), 'abc');
    },
  },
  {
    name: 'ftruncate grows with zeros',
    run(dir) {
      const file = put(dir, 'a.md', 'abc');
      withFd(file, 'r+', (fd) => fs.ftruncateSync(fd, 10_000));
      const bytes = fs.readFileSync(file);
      assert.equal(bytes.length, 10_000);
      assert.equal(bytes.toString('latin1', 0, 3), 'abc');
      assert.ok(bytes.subarray(3).every((byte) => byte === 0));
    },
  },
  {
    name: 'shrinking and growing again gives zeros, not the old bytes',
    run(dir) {
      const file = put(dir, 'a.md', 'abcdef');
      withFd(file, 'r+', (fd) => {
        fs.ftruncateSync(fd, 2);
        fs.ftruncateSync(fd, 6);
        assert.equal(textOf(fd), 'ab\0\0\0\0');
      });
      assert.equal(text(file), 'ab\0\0\0\0');
    },
  },
  {
    name: 'ftruncate to the same length leaves the content',
    run(dir) {
      const file = put(dir, 'a.md', 'abc');
      withFd(file, 'r+', (fd) => fs.ftruncateSync(fd, 3));
      assert.equal(text(file), 'abc');
    },
  },
  {
    name: 'ftruncate leaves the position, so that a later write leaves a gap',
    run(dir) {
      const file = path.join(dir, 'a.md');
      withFd(file, 'w+', (fd) => {
        fs.writeSync(fd, 'abcd');
        fs.ftruncateSync(fd, 0);
        fs.writeSync(fd, 'ef');
      });
      assert.equal(text(file), '\0\0\0\0ef');
    },
  },
  {
    name: 'ftruncate of a file opened for reading is refused with EINVAL',
    run(dir) {
      const file = put(dir, 'a.md', 'abc');
      withFd(file, 'r', (fd) => refuses('EINVAL', () => fs.ftruncateSync(fd, 0)));
      assert.equal(text(file), 'abc');
    },
  },
  {
    name: 'truncate by path to zero, shorter and longer',
    run(dir) {
      const file = put(dir, 'a.md', 'abcdef');
      fs.truncateSync(file, 4);
      assert.equal(text(file), 'abcd');
      fs.truncateSync(file, 6);
      assert.equal(text(file), 'abcd\0\0');
      fs.truncateSync(file);
      assert.equal(text(file), '');
    },
  },
  {
    name: 'truncate by one descriptor is seen by another',
    run(dir) {
      withFd(put(dir, 'a.md', 'abcdef'), 'r+', (one) =>
        withFd(path.join(dir, 'a.md'), 'r+', (two) => {
          fs.ftruncateSync(one, 1);
          assert.equal(fs.fstatSync(two).size, 1);
          assert.equal(textOf(two), 'a');
        }),
      );
    },
  },
];
