import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { folder, mtime, type PosixCase, put, refuses, text, textOf, withFd } from '../posix-case.js';

const files: PosixCase[] = [
  {
    name: 'rename of a file to a new name keeps inode, content and time',
    run(dir) {
      const from = put(dir, 'a.md', 'text');
      const to = path.join(dir, 'b.md');
      const before = fs.statSync(from, { bigint: true });
      fs.renameSync(from, to);
      const after = fs.statSync(to, { bigint: true });
      assert.equal(after.ino, before.ino);
      assert.equal(after.mtimeNs, before.mtimeNs);
      assert.equal(text(to), 'text');
      refuses('ENOENT', () => fs.statSync(from));
      assert.deepEqual(fs.readdirSync(dir), ['b.md']);
    },
  },
  {
    name: 'rename of a file over a file replaces it',
    run(dir) {
      const from = put(dir, 'a.md', 'new');
      const to = put(dir, 'b.md', 'old and longer');
      const { ino } = fs.statSync(from);
      fs.renameSync(from, to);
      assert.equal(text(to), 'new');
      assert.equal(fs.statSync(to).size, 3);
      assert.equal(fs.statSync(to).ino, ino);
      assert.deepEqual(fs.readdirSync(dir), ['b.md']);
    },
  },
  {
    name: 'rename over a file brings the time of the source',
    run(dir) {
      const from = put(dir, 'a.md', 'new');
      const to = put(dir, 'b.md', 'old');
      fs.utimesSync(from, 1_000_000_000, 1_000_000_000);
      fs.renameSync(from, to);
      assert.equal(mtime(to), 1_000_000_000_000_000_000n);
    },
    except: {
      on: 'mount',
      why: 'a change of content raises the modification time above every one shown before (spec 3.8)',
      instead(dir) {
        const from = put(dir, 'a.md', 'new');
        const to = put(dir, 'b.md', 'old');
        const shown = mtime(to);
        fs.utimesSync(from, 1_000_000_000, 1_000_000_000);
        fs.renameSync(from, to);
        assert.ok(mtime(to) > shown, 'the time did not rise');
        assert.equal(text(to), 'new');
      },
    },
  },
  {
    name: 'rename of a file over itself does nothing',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      const before = fs.statSync(file, { bigint: true });
      fs.renameSync(file, file);
      assert.equal(text(file), 'text');
      assert.equal(fs.statSync(file, { bigint: true }).ino, before.ino);
      assert.equal(fs.statSync(file, { bigint: true }).mtimeNs, before.mtimeNs);
    },
  },
  {
    name: 'rename of a file across folders, to a new name and over a file',
    run(dir) {
      const one = folder(dir, 'one');
      const two = folder(dir, 'two');
      fs.renameSync(put(one, 'a.md', 'moved'), path.join(two, 'b.md'));
      fs.renameSync(put(one, 'c.md', 'over'), put(two, 'd.md', 'old'));
      assert.deepEqual(fs.readdirSync(one), []);
      assert.deepEqual(fs.readdirSync(two).sort(), ['b.md', 'd.md']);
      assert.equal(text(path.join(two, 'b.md')), 'moved');
      assert.equal(text(path.join(two, 'd.md')), 'over');
    },
  },
  {
    name: 'a chain of renames comes round',
    run(dir) {
      put(dir, 'a.md', 'A');
      put(dir, 'b.md', 'B');
      const at = (name: string) => path.join(dir, name);
      fs.renameSync(at('a.md'), at('c.md'));
      fs.renameSync(at('b.md'), at('a.md'));
      fs.renameSync(at('c.md'), at('b.md'));
      assert.equal(text(at('a.md')), 'B');
      assert.equal(text(at('b.md')), 'A');
    },
  },
  {
    name: 'a name that differs in case only is another name',
    run(dir) {
      fs.renameSync(put(dir, 'readme.md', 'text'), path.join(dir, 'README.md'));
      assert.deepEqual(fs.readdirSync(dir), ['README.md']);
    },
  },
  {
    name: 'a save by temporary file: O_EXCL, write, fsync, rename over, twenty-five times',
    run(dir) {
      const file = put(dir, 'MEMORY.md', 'start');
      for (let save = 0; save < 25; save++) {
        const temporary = path.join(dir, `MEMORY.md.tmp.${save}.ab12cd34ef56`);
        withFd(temporary, 'wx', (fd) => {
          fs.writeSync(fd, `save ${save}`);
          fs.fsyncSync(fd);
        });
        fs.renameSync(temporary, file);
        assert.equal(text(file), `save ${save}`);
      }
      assert.deepEqual(fs.readdirSync(dir), ['MEMORY.md']);
    },
  },
];

const descriptors: PosixCase[] = [
  {
    name: 'a descriptor of the source follows the file through a rename',
    run(dir) {
      const from = put(dir, 'a.md', 'text');
      const to = path.join(dir, 'b.md');
      withFd(from, 'r+', (fd) => {
        fs.writeSync(fd, 'T', 0);
        fs.renameSync(from, to);
        assert.equal(textOf(fd), 'Text');
        fs.writeSync(fd, '!', 4);
        assert.equal(text(to), 'Text!');
        assert.equal(fs.fstatSync(fd).nlink, 1);
      });
      assert.equal(text(to), 'Text!');
      refuses('ENOENT', () => fs.statSync(from));
    },
  },
  {
    name: 'a descriptor of the source follows the file over another file',
    run(dir) {
      const from = put(dir, 'a.md', 'new');
      const to = put(dir, 'b.md', 'old');
      withFd(from, 'r+', (fd) => {
        fs.renameSync(from, to);
        fs.writeSync(fd, 'er', 3);
        assert.equal(text(to), 'newer');
      });
      assert.equal(text(to), 'newer');
    },
  },
  {
    name: 'a reader of the target keeps the replaced file, with no links',
    run(dir) {
      const to = put(dir, 'b.md', 'old');
      withFd(to, 'r', (fd) => {
        fs.renameSync(put(dir, 'a.md', 'new'), to);
        assert.equal(textOf(fd), 'old');
        assert.equal(fs.fstatSync(fd).nlink, 0);
        assert.notEqual(fs.fstatSync(fd).ino, fs.statSync(to).ino);
        assert.equal(text(to), 'new');
      });
    },
  },
  {
    name: 'a writer of the replaced target changes nothing of the new file',
    run(dir) {
      const to = put(dir, 'b.md', 'old');
      withFd(to, 'r+', (fd) => {
        fs.renameSync(put(dir, 'a.md', 'new'), to);
        fs.writeSync(fd, 'lost', 0);
        assert.equal(textOf(fd), 'lost');
        assert.equal(text(to), 'new');
      });
      assert.equal(text(to), 'new');
    },
  },
  {
    name: 'a file created in a folder that moves meanwhile is found there',
    run(dir) {
      const from = folder(dir, 'from');
      withFd(path.join(from, 'a.md'), 'wx', (fd) => {
        fs.renameSync(from, path.join(dir, 'to'));
        fs.writeSync(fd, 'text');
      });
      assert.equal(text(path.join(dir, 'to', 'a.md')), 'text');
      refuses('ENOENT', () => fs.statSync(path.join(from, 'a.md')));
    },
  },
];

/** Renames of files, without and with open descriptors. */
export const renameFiles: PosixCase[] = [...files, ...descriptors];
