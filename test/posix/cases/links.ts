import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type PosixCase, put, refuses, text } from '../posix-case.js';

const WHY = 'a tree has no symbolic and no hard links: a memory file never leads out of the folder (spec 3.6)';

export const links: PosixCase[] = [
  {
    name: 'a symbolic link is made and followed',
    run(dir) {
      put(dir, 'a.md', 'text');
      const link = path.join(dir, 'link');
      fs.symlinkSync('a.md', link);
      assert.equal(fs.readlinkSync(link), 'a.md');
      assert.equal(text(link), 'text');
      assert.ok(fs.lstatSync(link).isSymbolicLink());
    },
    except: {
      on: 'mount',
      why: WHY,
      instead(dir) {
        put(dir, 'a.md', 'text');
        for (const target of ['a.md', '/etc/hostname', '..', 'none']) {
          refuses('EPERM', () => fs.symlinkSync(target, path.join(dir, 'link')));
        }
        assert.deepEqual(fs.readdirSync(dir), ['a.md']);
      },
    },
  },
  {
    name: 'O_NOFOLLOW on a symbolic link is refused with ELOOP, O_EXCL with EEXIST',
    run(dir) {
      const link = path.join(dir, 'link');
      fs.symlinkSync('none', link);
      refuses('ELOOP', () => fs.openSync(link, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW));
      refuses('EEXIST', () => fs.openSync(link, 'wx'));
    },
    except: {
      on: 'mount',
      why: WHY,
      instead(dir) {
        const link = path.join(dir, 'link.lock');
        refuses('EPERM', () => fs.symlinkSync('none', link));
        refuses('ENOENT', () => fs.lstatSync(link));
        fs.closeSync(fs.openSync(link, 'wx'));
      },
    },
  },
  {
    name: 'a symbolic link over an existing name is refused with EEXIST',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      refuses('EEXIST', () => fs.symlinkSync('x', file));
      assert.equal(text(file), 'text');
    },
  },
  {
    name: 'a hard link is a second name of one file',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      const link = path.join(dir, 'b.md');
      fs.linkSync(file, link);
      assert.equal(fs.statSync(file).nlink, 2);
      fs.unlinkSync(file);
      assert.equal(text(link), 'text');
    },
    except: {
      on: 'mount',
      why: WHY,
      instead(dir) {
        const file = put(dir, 'a.md', 'text');
        refuses('EPERM', () => fs.linkSync(file, path.join(dir, 'b.md')));
        assert.deepEqual(fs.readdirSync(dir), ['a.md']);
        assert.equal(fs.statSync(file).nlink, 1);
        assert.equal(text(file), 'text');
      },
    },
  },
  {
    name: 'a hard link over an existing name is refused with EEXIST',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      refuses('EEXIST', () => fs.linkSync(file, put(dir, 'b.md', 'other')));
      assert.equal(fs.statSync(file).nlink, 1);
    },
  },
];
