import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type PosixCase, put, refuses, text, textOf, withFd } from '../posix-case.js';

const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_DIRECTORY, O_NOFOLLOW, O_SYNC, O_DSYNC } =
  fs.constants;

export const openFlags: PosixCase[] = [
  {
    name: 'O_CREAT makes an empty file that is there before it is closed',
    run(dir) {
      const file = path.join(dir, 'a.md');
      withFd(file, O_WRONLY | O_CREAT, () => {
        assert.equal(fs.statSync(file).size, 0);
        assert.deepEqual(fs.readdirSync(dir), ['a.md']);
      });
      assert.equal(text(file), '');
    },
  },
  {
    name: 'O_CREAT on an existing file leaves its content and its inode',
    run(dir) {
      const file = put(dir, 'a.md', 'old');
      const { ino } = fs.statSync(file);
      withFd(file, O_RDWR | O_CREAT, (fd) => assert.equal(textOf(fd), 'old'));
      assert.equal(text(file), 'old');
      assert.equal(fs.statSync(file).ino, ino);
    },
  },
  {
    name: 'O_CREAT with O_RDONLY makes the file and refuses writes with EBADF',
    run(dir) {
      withFd(path.join(dir, 'a.md'), O_RDONLY | O_CREAT, (fd) => {
        refuses('EBADF', () => fs.writeSync(fd, 'x'));
      });
      assert.equal(fs.statSync(path.join(dir, 'a.md')).size, 0);
    },
  },
  {
    name: 'O_EXCL makes a new file once',
    run(dir) {
      const file = path.join(dir, 'a.md');
      withFd(file, O_WRONLY | O_CREAT | O_EXCL, (fd) => {
        refuses('EEXIST', () => fs.openSync(file, O_WRONLY | O_CREAT | O_EXCL));
        fs.writeSync(fd, 'first');
      });
      refuses('EEXIST', () => fs.openSync(file, O_RDWR | O_CREAT | O_EXCL | O_TRUNC));
      assert.equal(text(file), 'first');
      fs.unlinkSync(file);
      withFd(file, O_WRONLY | O_CREAT | O_EXCL, (fd) => fs.writeSync(fd, 'second'));
      assert.equal(text(file), 'second');
    },
  },
  {
    name: 'O_EXCL on a folder is refused with EEXIST',
    run(dir) {
      fs.mkdirSync(path.join(dir, 'd'));
      refuses('EEXIST', () => fs.openSync(path.join(dir, 'd'), O_WRONLY | O_CREAT | O_EXCL));
    },
  },
  {
    name: 'O_TRUNC empties the file at open',
    run(dir) {
      const file = put(dir, 'a.md', 'old text');
      withFd(file, O_WRONLY | O_TRUNC, (fd) => {
        assert.equal(fs.fstatSync(fd).size, 0);
        assert.equal(fs.statSync(file).size, 0);
        assert.equal(text(file), '');
      });
      assert.equal(text(file), '');
    },
  },
  {
    name: 'O_TRUNC then a shorter text leaves nothing of the longer one',
    run(dir) {
      const file = put(dir, 'a.md', 'a long old text\n');
      withFd(file, O_RDWR | O_CREAT | O_TRUNC, (fd) => {
        fs.writeSync(fd, 'new');
        assert.equal(textOf(fd), 'new');
      });
      assert.equal(text(file), 'new');
    },
  },
  {
    name: 'writing without O_TRUNC replaces only what is written',
    run(dir) {
      const file = put(dir, 'a.md', 'abcdef');
      withFd(file, O_WRONLY, (fd) => fs.writeSync(fd, 'XY'));
      assert.equal(text(file), 'XYcdef');
    },
  },
  {
    name: 'an open for writing that writes nothing changes nothing',
    run(dir) {
      const file = put(dir, 'a.md', 'same');
      const before = fs.statSync(file, { bigint: true });
      withFd(file, O_RDWR, () => {});
      withFd(file, O_WRONLY | O_APPEND, () => {});
      const after = fs.statSync(file, { bigint: true });
      assert.equal(text(file), 'same');
      assert.equal(after.mtimeNs, before.mtimeNs);
      assert.equal(after.ino, before.ino);
    },
  },
  {
    name: 'O_WRONLY refuses reads and O_RDONLY refuses writes with EBADF',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      withFd(file, O_WRONLY, (fd) => refuses('EBADF', () => fs.readSync(fd, Buffer.alloc(4))));
      withFd(file, O_RDONLY, (fd) => refuses('EBADF', () => fs.writeSync(fd, 'x')));
      assert.equal(text(file), 'text');
    },
  },
  {
    name: 'O_SYNC and O_DSYNC write as usual',
    run(dir) {
      const file = path.join(dir, 'a.md');
      withFd(file, O_WRONLY | O_CREAT | O_SYNC, (fd) => fs.writeSync(fd, 'one\n'));
      withFd(file, O_WRONLY | O_APPEND | O_DSYNC, (fd) => fs.writeSync(fd, 'two\n'));
      assert.equal(text(file), 'one\ntwo\n');
    },
  },
  {
    name: 'O_NOFOLLOW opens a plain file',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      withFd(file, O_RDONLY | O_NOFOLLOW, (fd) => assert.equal(textOf(fd), 'text'));
    },
  },
  {
    name: 'O_DIRECTORY opens a folder and refuses a file with ENOTDIR',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      withFd(dir, O_RDONLY | O_DIRECTORY, (fd) => assert.ok(fs.fstatSync(fd).isDirectory()));
      refuses('ENOTDIR', () => fs.openSync(file, O_RDONLY | O_DIRECTORY));
    },
  },
  {
    name: 'a folder opens for reading, fsyncs, and refuses read, write and O_CREAT with EISDIR',
    run(dir) {
      const folder = path.join(dir, 'd');
      fs.mkdirSync(folder);
      withFd(folder, O_RDONLY, (fd) => {
        fs.fsyncSync(fd);
        refuses('EISDIR', () => fs.readSync(fd, Buffer.alloc(4)));
      });
      refuses('EISDIR', () => fs.openSync(folder, O_WRONLY));
      refuses('EISDIR', () => fs.openSync(folder, O_RDWR));
      refuses('EISDIR', () => fs.openSync(folder, O_RDWR | O_CREAT));
    },
  },
  {
    name: 'two descriptors of one file have positions of their own and one content',
    run(dir) {
      const file = put(dir, 'a.md', '0123456789');
      withFd(file, O_RDWR, (one) =>
        withFd(file, O_RDWR, (two) => {
          const buffer = Buffer.alloc(3);
          fs.readSync(one, buffer, 0, 3, null);
          assert.equal(buffer.toString(), '012');
          fs.writeSync(two, 'abcd');
          fs.readSync(one, buffer, 0, 3, null);
          assert.equal(buffer.toString(), 'd45');
          assert.equal(fs.fstatSync(one).ino, fs.fstatSync(two).ino);
        }),
      );
      assert.equal(text(file), 'abcd456789');
    },
  },
  {
    name: 'a descriptor that is closed refuses everything with EBADF',
    run(dir) {
      const fd = fs.openSync(put(dir, 'a.md', 'text'), O_RDWR);
      fs.closeSync(fd);
      refuses('EBADF', () => fs.closeSync(fd));
      refuses('EBADF', () => fs.readSync(fd, Buffer.alloc(1)));
      refuses('EBADF', () => fs.writeSync(fd, 'x'));
      refuses('EBADF', () => fs.fstatSync(fd));
    },
  },
];
