import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type PosixCase, put, refuses, text, textOf, withFd } from '../posix-case.js';

export const unlink: PosixCase[] = [
  {
    name: 'unlink takes the name away at once',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      fs.unlinkSync(file);
      refuses('ENOENT', () => fs.statSync(file));
      refuses('ENOENT', () => fs.openSync(file, 'r'));
      refuses('ENOENT', () => fs.unlinkSync(file));
      assert.deepEqual(fs.readdirSync(dir), []);
    },
  },
  {
    name: 'a file unlinked while open is read to its end, with no links',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      withFd(file, 'r', (fd) => {
        fs.unlinkSync(file);
        assert.equal(textOf(fd), 'text');
        assert.equal(fs.fstatSync(fd).nlink, 0);
        assert.equal(fs.fstatSync(fd).size, 4);
      });
    },
  },
  {
    name: 'a file unlinked while open takes writes and truncation, and stays gone after the close',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      withFd(file, 'r+', (fd) => {
        fs.writeSync(fd, 'TEXT and more', 0);
        fs.unlinkSync(file);
        fs.writeSync(fd, '!', 13);
        assert.equal(textOf(fd), 'TEXT and more!');
        fs.ftruncateSync(fd, 4);
        assert.equal(textOf(fd), 'TEXT');
        assert.equal(fs.fstatSync(fd).nlink, 0);
        fs.fsyncSync(fd);
      });
      refuses('ENOENT', () => fs.statSync(file));
      assert.deepEqual(fs.readdirSync(dir), []);
    },
  },
  {
    name: 'a file created, unlinked and written leaves nothing',
    run(dir) {
      const file = path.join(dir, 'a.md');
      withFd(file, 'wx+', (fd) => {
        fs.unlinkSync(file);
        fs.writeSync(fd, 'scratch');
        assert.equal(textOf(fd), 'scratch');
      });
      assert.deepEqual(fs.readdirSync(dir), []);
    },
  },
  {
    name: 'a name used again while the old file is open is another inode with another content',
    run(dir) {
      const file = put(dir, 'a.md', 'old');
      withFd(file, 'r+', (fd) => {
        fs.unlinkSync(file);
        put(dir, 'a.md', 'brand new');
        assert.notEqual(fs.statSync(file).ino, fs.fstatSync(fd).ino);
        assert.equal(textOf(fd), 'old');
        fs.writeSync(fd, 'OLD', 0);
        assert.equal(text(file), 'brand new');
        assert.equal(fs.fstatSync(fd).nlink, 0);
        assert.equal(fs.statSync(file).nlink, 1);
      });
      assert.equal(text(file), 'brand new');
    },
  },
  {
    name: 'ten rounds of create, open, unlink keep ten files apart',
    run(dir) {
      const file = path.join(dir, 'a.md');
      const fds: number[] = [];
      try {
        for (let round = 0; round < 10; round++) {
          put(dir, 'a.md', `round ${round}`);
          fds.push(fs.openSync(file, 'r'));
          fs.unlinkSync(file);
        }
        assert.deepEqual(
          fds.map(textOf),
          fds.map((_, round) => `round ${round}`),
        );
        assert.equal(new Set(fds.map((fd) => fs.fstatSync(fd).ino)).size, 10);
      } finally {
        fds.forEach((fd) => {
          fs.closeSync(fd);
        });
      }
    },
  },
  {
    name: 'unlink of a folder is refused with EISDIR',
    run(dir) {
      fs.mkdirSync(path.join(dir, 'd'));
      refuses('EISDIR', () => fs.unlinkSync(path.join(dir, 'd')));
      assert.ok(fs.existsSync(path.join(dir, 'd')));
    },
  },
  {
    name: 'a recursive removal takes a whole tree',
    run(dir) {
      const top = path.join(dir, 'top');
      fs.mkdirSync(path.join(top, 'a', 'b'), { recursive: true });
      for (let at = 0; at < 30; at++) put(path.join(top, at % 2 ? 'a' : 'a/b'), `${at}.md`, 'x');
      fs.rmSync(top, { recursive: true });
      assert.deepEqual(fs.readdirSync(dir), []);
    },
  },
];
