import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { folder, type PosixCase, put, refuses, text } from '../posix-case.js';

const folders: PosixCase[] = [
  {
    name: 'rename of a folder moves everything in it',
    run(dir) {
      const from = folder(dir, 'from');
      folder(from, 'deep');
      put(path.join(from, 'deep'), 'a.md', 'text');
      const { ino } = fs.statSync(from);
      fs.renameSync(from, path.join(dir, 'to'));
      assert.equal(text(path.join(dir, 'to', 'deep', 'a.md')), 'text');
      assert.equal(fs.statSync(path.join(dir, 'to')).ino, ino);
      refuses('ENOENT', () => fs.statSync(path.join(from, 'deep', 'a.md')));
    },
  },
  {
    name: 'rename of a folder over an empty folder replaces it',
    run(dir) {
      const from = folder(dir, 'from');
      put(from, 'a.md', 'text');
      const to = folder(dir, 'to');
      fs.renameSync(from, to);
      assert.equal(text(path.join(to, 'a.md')), 'text');
      assert.deepEqual(fs.readdirSync(dir), ['to']);
    },
  },
  {
    name: 'rename of a folder over a folder with entries is refused with ENOTEMPTY',
    run(dir) {
      const from = folder(dir, 'from');
      const to = folder(dir, 'to');
      put(to, 'a.md', 'text');
      refuses(['ENOTEMPTY', 'EEXIST'], () => fs.renameSync(from, to));
      assert.equal(text(path.join(to, 'a.md')), 'text');
      assert.ok(fs.existsSync(from));
    },
  },
  {
    name: 'rename of a folder over itself does nothing',
    run(dir) {
      const own = folder(dir, 'own');
      put(own, 'a.md', 'text');
      fs.renameSync(own, own);
      assert.equal(text(path.join(own, 'a.md')), 'text');
    },
  },
  {
    name: 'rename of a folder across folders changes what .. is',
    run(dir) {
      const one = folder(dir, 'one');
      const two = folder(dir, 'two');
      const sub = folder(one, 'sub');
      fs.renameSync(sub, path.join(two, 'sub'));
      assert.equal(fs.statSync(`${two}/sub/..`).ino, fs.statSync(two).ino);
      assert.deepEqual(fs.readdirSync(one), []);
      fs.rmdirSync(one);
    },
  },
  {
    name: 'rename of a folder into its own subtree is refused with EINVAL',
    run(dir) {
      const own = folder(dir, 'own');
      folder(own, 'sub');
      refuses('EINVAL', () => fs.renameSync(own, path.join(own, 'x')));
      refuses('EINVAL', () => fs.renameSync(own, path.join(own, 'sub', 'x')));
      assert.ok(fs.existsSync(path.join(own, 'sub')));
    },
  },
  {
    name: 'rename over an ancestor is refused with ENOTEMPTY',
    run(dir) {
      const own = folder(dir, 'own');
      const sub = folder(own, 'sub');
      refuses(['ENOTEMPTY', 'EEXIST'], () => fs.renameSync(sub, own));
      const file = put(sub, 'a.md', 'text');
      refuses(['ENOTEMPTY', 'EEXIST', 'EISDIR'], () => fs.renameSync(file, own));
      assert.equal(text(file), 'text');
    },
  },
  {
    name: 'rename of a folder with a trailing slash',
    run(dir) {
      fs.renameSync(`${folder(dir, 'from')}/`, `${dir}/to/`);
      assert.deepEqual(fs.readdirSync(dir), ['to']);
    },
  },
];

const refusals: PosixCase[] = [
  {
    name: 'rename of a file over a folder is refused with EISDIR',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      refuses('EISDIR', () => fs.renameSync(file, folder(dir, 'd')));
      assert.equal(text(file), 'text');
    },
  },
  {
    name: 'rename of a folder over a file is refused with ENOTDIR',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      refuses('ENOTDIR', () => fs.renameSync(folder(dir, 'd'), file));
      assert.equal(text(file), 'text');
    },
  },
  {
    name: 'rename of what is not there is refused with ENOENT',
    run(dir) {
      const to = put(dir, 'b.md', 'text');
      refuses('ENOENT', () => fs.renameSync(path.join(dir, 'none'), path.join(dir, 'new')));
      refuses('ENOENT', () => fs.renameSync(path.join(dir, 'none'), to));
      assert.equal(text(to), 'text');
    },
  },
  {
    name: 'rename from or into a folder that is not there is refused with ENOENT',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      refuses('ENOENT', () => fs.renameSync(file, path.join(dir, 'none', 'a.md')));
      refuses('ENOENT', () => fs.renameSync(path.join(dir, 'none', 'a.md'), path.join(dir, 'b.md')));
      assert.equal(text(file), 'text');
    },
  },
  {
    name: 'rename from or into a file as if it were a folder is refused with ENOTDIR',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      const other = put(dir, 'b.md', 'other');
      refuses('ENOTDIR', () => fs.renameSync(file, path.join(other, 'x')));
      refuses('ENOTDIR', () => fs.renameSync(path.join(other, 'x'), path.join(dir, 'c.md')));
      refuses('ENOTDIR', () => fs.renameSync(file, `${path.join(dir, 'new')}/`));
      assert.equal(text(file), 'text');
    },
  },
  {
    name: 'rename of . or .. is refused with EBUSY or EINVAL',
    run(dir) {
      const own = folder(dir, 'own');
      refuses(['EBUSY', 'EINVAL'], () => fs.renameSync(`${own}/.`, path.join(dir, 'x')));
      refuses(['EBUSY', 'EINVAL'], () => fs.renameSync(`${own}/..`, path.join(dir, 'x')));
      assert.ok(fs.existsSync(own));
    },
  },
];

/** Renames of folders, and every refusal of a rename. */
export const renameFolders: PosixCase[] = [...folders, ...refusals];
