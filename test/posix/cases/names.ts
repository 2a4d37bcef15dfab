import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type PosixCase, put, refuses, text } from '../posix-case.js';

const AWKWARD = [
  ' leading',
  'trailing ',
  'two  blanks',
  'new\nline.md',
  'tab\t.md',
  '-rf',
  '--help',
  '*?[x]',
  'back\\slash',
  'quo"te\'s',
  '$HOME',
  '%41%2f',
  '..hidden',
  '...',
  '.a',
  '~',
  ':',
  '\u0001\u007f',
  'ünïcödé.md',
  '記憶.md',
  'na🧠me.md',
  '\u{10ffff}',
  '\u200b',
  '\ufeffbom',
];

/** Names whose bytes are not UTF-8: a lone byte, a cut sequence, an overlong slash, a surrogate, beyond Unicode. */
const NOT_UTF8 = [[0xff], [0x61, 0x80], [0xe2, 0x82], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]];

function rawPath(dir: string, bytes: number[]): Buffer {
  return Buffer.concat([Buffer.from(`${dir}/`), Buffer.from(bytes)]);
}

export const names: PosixCase[] = [
  {
    name: 'awkward names are kept byte for byte',
    run(dir) {
      for (const name of AWKWARD) put(dir, name, `in ${name}`);
      assert.deepEqual(fs.readdirSync(dir).sort(), [...AWKWARD].sort());
      for (const name of AWKWARD) assert.equal(text(path.join(dir, name)), `in ${name}`);
      for (const name of AWKWARD) fs.unlinkSync(path.join(dir, name));
    },
  },
  {
    name: 'names that differ in case or Unicode form are different files',
    run(dir) {
      const different = ['caf\u00e9', 'cafe\u0301', 'CAF\u00c9', 'Caf\u00e9'];
      for (const name of different) put(dir, name, Buffer.from(name));
      assert.equal(fs.readdirSync(dir).length, different.length);
      for (const name of different) assert.equal(text(path.join(dir, name)), name);
    },
  },
  {
    name: 'a name of 255 bytes is accepted, in one-byte and many-byte letters',
    run(dir) {
      const longest = ['n'.repeat(255), `${'é'.repeat(127)}x`, '記'.repeat(85), `${'🧠'.repeat(63)}abc`];
      for (const name of longest) put(dir, name, 'x');
      assert.deepEqual(fs.readdirSync(dir).sort(), [...longest].sort());
      const renamed = 'r'.repeat(255);
      fs.renameSync(path.join(dir, longest[0] ?? ''), path.join(dir, renamed));
      assert.equal(text(path.join(dir, renamed)), 'x');
    },
  },
  ...(['n'.repeat(256), '記'.repeat(86), 'n'.repeat(1100)] as const).map(
    (name): PosixCase => ({
      name: `a name of ${Buffer.byteLength(name)} bytes (${name.length} letters) is refused with ENAMETOOLONG`,
      run(dir) {
        const file = path.join(dir, name);
        const other = put(dir, 'a.md', 'text');
        refuses('ENAMETOOLONG', () => fs.openSync(file, 'w'));
        refuses('ENAMETOOLONG', () => fs.mkdirSync(file));
        refuses('ENAMETOOLONG', () => fs.renameSync(other, file));
        refuses('ENAMETOOLONG', () => fs.statSync(file));
        refuses('ENAMETOOLONG', () => fs.unlinkSync(file));
        refuses('ENAMETOOLONG', () => fs.symlinkSync('x', file));
        assert.deepEqual(fs.readdirSync(dir), ['a.md']);
      },
    }),
  ),
  {
    name: 'a path of more than 4,096 bytes is refused with ENAMETOOLONG',
    run(dir) {
      refuses('ENAMETOOLONG', () => fs.statSync(`${dir}${'/.'.repeat(2100)}`));
    },
  },
  {
    name: 'a name that is not UTF-8 is kept byte for byte',
    run(dir) {
      for (const bytes of NOT_UTF8) fs.writeFileSync(rawPath(dir, bytes), 'x');
      assert.equal(fs.readdirSync(dir, 'buffer').length, NOT_UTF8.length);
      for (const bytes of NOT_UTF8) fs.unlinkSync(rawPath(dir, bytes));
    },
    except: {
      on: 'mount',
      why: 'names are valid UTF-8, otherwise EINVAL (spec 3.6)',
      instead(dir) {
        const other = put(dir, 'a.md', 'text');
        for (const bytes of NOT_UTF8) {
          const file = rawPath(dir, bytes);
          refuses('EINVAL', () => fs.openSync(file, 'w'));
          refuses('EINVAL', () => fs.mkdirSync(file));
          refuses('EINVAL', () => fs.renameSync(other, file));
          refuses(['EINVAL', 'ENOENT'], () => fs.statSync(file));
          refuses(['EINVAL', 'ENOENT'], () => fs.unlinkSync(file));
        }
        assert.deepEqual(fs.readdirSync(dir), ['a.md']);
        assert.equal(text(other), 'text');
      },
    },
  },
  {
    name: 'folders go more than 16 levels deep',
    run(dir) {
      const deep = path.join(dir, ...Array.from({ length: 30 }, () => 'd'));
      fs.mkdirSync(deep, { recursive: true });
      assert.equal(text(put(deep, 'a.md', 'deep')), 'deep');
    },
    except: {
      on: 'mount',
      why: 'names go up to 16 levels deep, otherwise EINVAL or ENAMETOOLONG (spec 3.6)',
      instead(dir) {
        // `dir` is the first level, so fourteen folders more and a file make sixteen.
        const deep = path.join(dir, ...Array.from({ length: 14 }, () => 'd'));
        fs.mkdirSync(deep, { recursive: true });
        const file = put(deep, 'a.md', 'level 16');
        assert.equal(text(file), 'level 16');
        fs.mkdirSync(path.join(deep, 'd'));
        for (const make of [
          () => fs.mkdirSync(path.join(deep, 'd', 'd')),
          () => fs.openSync(path.join(deep, 'd', 'a.md'), 'w'),
          () => fs.renameSync(file, path.join(deep, 'd', 'a.md')),
        ]) {
          refuses(['EINVAL', 'ENAMETOOLONG'], make);
        }
        assert.deepEqual(fs.readdirSync(path.join(deep, 'd')), []);
        assert.equal(text(file), 'level 16');
        // A folder that holds folders cannot be moved below the limit either.
        const branch = path.join(dir, 'branch');
        fs.mkdirSync(path.join(branch, 'x', 'y', 'z'), { recursive: true });
        refuses(['EINVAL', 'ENAMETOOLONG'], () => fs.renameSync(branch, path.join(deep, 'branch')));
        assert.ok(fs.existsSync(path.join(branch, 'x', 'y', 'z')));
      },
    },
  },
  {
    name: '. and .. are found everywhere and cannot be made or removed',
    run(dir) {
      const sub = path.join(dir, 'sub');
      fs.mkdirSync(sub);
      put(dir, 'a.md', 'text');
      assert.equal(fs.statSync(`${sub}/.`).ino, fs.statSync(sub).ino);
      assert.equal(fs.statSync(`${sub}/..`).ino, fs.statSync(dir).ino);
      assert.equal(text(`${sub}/../a.md`), 'text');
      refuses('EEXIST', () => fs.mkdirSync(`${sub}/.`));
      refuses('EEXIST', () => fs.mkdirSync(`${sub}/..`));
      refuses('EINVAL', () => fs.rmdirSync(`${sub}/.`));
      refuses('ENOTEMPTY', () => fs.rmdirSync(`${sub}/..`));
      refuses('EISDIR', () => fs.unlinkSync(`${sub}/.`));
    },
  },
];
