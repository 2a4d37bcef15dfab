import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { mtime, type PosixCase, put, refuses, text, textOf, withFd } from '../posix-case.js';

/** What editors, locks and savers leave in the folder: served, but not memory (spec 3.7). */
const LOCAL = ['.note.md.swp', 'note.md~', '.DS_Store', 'foo.lock', '.consolidate-lock', 'note.md.tmp.12.ab12cd34ef56'];

export const localFiles: PosixCase[] = [
  ...LOCAL.map(
    (name): PosixCase => ({
      name: `${name} works as an ordinary file`,
      run(dir) {
        const file = path.join(dir, name);
        withFd(file, 'wx+', (fd) => {
          fs.writeSync(fd, 'one\n');
          assert.equal(text(file), 'one\n');
          fs.fsyncSync(fd);
          assert.equal(textOf(fd), 'one\n');
        });
        refuses('EEXIST', () => fs.openSync(file, 'wx'));
        fs.appendFileSync(file, 'two\n');
        fs.truncateSync(file, 6);
        assert.equal(text(file), 'one\ntw');
        assert.deepEqual(fs.readdirSync(dir), [name]);
        fs.utimesSync(file, 1_000_000_000, 1_000_000_000);
        assert.equal(mtime(file), 1_000_000_000n * 1_000_000_000n);
        withFd(file, 'r', (fd) => {
          fs.unlinkSync(file);
          assert.equal(textOf(fd), 'one\ntw');
          assert.equal(fs.fstatSync(fd).nlink, 0);
        });
        assert.deepEqual(fs.readdirSync(dir), []);
      },
    }),
  ),
  {
    name: 'a temporary file renamed over a note is the note',
    run(dir) {
      const note = put(dir, 'note.md', 'old');
      const temporary = put(dir, 'note.md.tmp.12.ab12cd34ef56', 'new text');
      withFd(note, 'r', (reader) => {
        fs.renameSync(temporary, note);
        assert.equal(textOf(reader), 'old');
      });
      assert.equal(text(note), 'new text');
      assert.equal(fs.statSync(note).size, 8);
      refuses('ENOENT', () => fs.statSync(temporary));
    },
  },
  {
    name: 'a temporary file still open for writing when it is renamed over a note ends as the note',
    run(dir) {
      const note = put(dir, 'note.md', 'old');
      const temporary = path.join(dir, 'note.md.tmp.12.ab12cd34ef56');
      withFd(temporary, 'wx', (fd) => {
        fs.writeSync(fd, 'new');
        fs.renameSync(temporary, note);
        fs.writeSync(fd, ' text');
      });
      assert.equal(text(note), 'new text');
    },
  },
  {
    name: 'a note moved to a backup name and written anew is two files',
    run(dir) {
      const note = put(dir, 'note.md', 'old');
      fs.renameSync(note, `${note}~`);
      put(dir, 'note.md', 'new');
      assert.equal(text(`${note}~`), 'old');
      assert.equal(text(note), 'new');
      fs.unlinkSync(`${note}~`);
      assert.deepEqual(fs.readdirSync(dir), ['note.md']);
    },
  },
  {
    name: 'a lock taken by O_EXCL is held until it is removed',
    run(dir) {
      const lock = path.join(dir, 'foo.lock');
      for (let round = 0; round < 20; round++) {
        fs.closeSync(fs.openSync(lock, 'wx'));
        refuses('EEXIST', () => fs.openSync(lock, 'wx'));
        fs.unlinkSync(lock);
      }
    },
  },
];
