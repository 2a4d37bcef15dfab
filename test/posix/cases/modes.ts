import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { mode, type PosixCase, put, refuses, text, withFd } from '../posix-case.js';

const WHY_MODES = 'files are 0600 and folders 0700 whatever is asked for; chmod is accepted and masked (spec 3.4)';
const isRoot = () => process.geteuid?.() === 0;

/** Runs with a umask of its own. */
function withUmask(mask: number, use: () => void): void {
  const before = process.umask(mask);
  try {
    use();
  } finally {
    process.umask(before);
  }
}

function create(dir: string): { file: string; folder: string } {
  const file = path.join(dir, 'a.md');
  const folder = path.join(dir, 'd');
  withUmask(0, () => {
    withFd(file, 'wx', () => {}, 0o666);
    fs.mkdirSync(folder, 0o777);
  });
  return { file, folder };
}

/** The modes that people and programs set on a file. */
const ASKED = [0o777, 0o644, 0o600, 0o400, 0o4755, 0o2755, 0o1777, 0o755];

export const modes: PosixCase[] = [
  {
    name: 'a new file and a new folder have the mode asked for, less the umask',
    run(dir) {
      const { file, folder } = create(dir);
      assert.equal(mode(file), 0o666);
      assert.equal(mode(folder), 0o777);
      withUmask(0o027, () => withFd(path.join(dir, 'b.md'), 'wx', () => {}, 0o666));
      assert.equal(mode(path.join(dir, 'b.md')), 0o640);
    },
    except: {
      on: 'mount',
      why: WHY_MODES,
      instead(dir) {
        const { file, folder } = create(dir);
        assert.equal(mode(file), 0o600);
        assert.equal(mode(folder), 0o700);
        withUmask(0o777, () => withFd(path.join(dir, 'b.md'), 'wx', () => {}, 0o666));
        assert.equal(mode(path.join(dir, 'b.md')), 0o600);
        assert.equal(mode(dir), 0o700);
      },
    },
  },
  {
    name: 'chmod and fchmod set the mode of a file',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      for (const asked of ASKED) {
        fs.chmodSync(file, asked);
        assert.equal(mode(file), asked);
      }
      fs.chmodSync(file, 0o600);
      withFd(file, 'r', (fd) => fs.fchmodSync(fd, 0o640));
      assert.equal(mode(file), 0o640);
    },
    except: {
      on: 'mount',
      why: WHY_MODES,
      instead(dir) {
        const file = put(dir, 'a.md', 'text');
        for (const asked of [...ASKED, 0]) {
          fs.chmodSync(file, asked);
          assert.equal(mode(file), 0o600);
        }
        withFd(file, 'r', (fd) => fs.fchmodSync(fd, 0o777));
        assert.equal(mode(file), 0o600);
        assert.equal(text(file), 'text');
      },
    },
  },
  {
    name: 'chmod sets the mode of a folder',
    run(dir) {
      for (const asked of [0o777, 0o755, 0o1777, 0o700]) {
        fs.chmodSync(dir, asked);
        assert.equal(mode(dir), asked);
      }
    },
    except: {
      on: 'mount',
      why: WHY_MODES,
      instead(dir) {
        for (const asked of [0o777, 0o755, 0o1777, 0o2777, 0]) {
          fs.chmodSync(dir, asked);
          assert.equal(mode(dir), 0o700);
        }
        assert.deepEqual(fs.readdirSync(dir), []);
      },
    },
  },
  {
    name: 'a file of mode 0 is closed to its owner, unless that is root',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      fs.chmodSync(file, 0);
      if (isRoot()) assert.equal(text(file), 'text');
      else refuses('EACCES', () => fs.openSync(file, 'r'));
    },
    except: {
      on: 'mount',
      why: WHY_MODES,
      instead(dir) {
        const file = put(dir, 'a.md', 'text');
        fs.chmodSync(file, 0);
        assert.equal(text(file), 'text');
      },
    },
  },
  {
    name: 'a set-uid file loses the bit when an ordinary user writes to it',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      fs.chmodSync(file, 0o4777);
      fs.appendFileSync(file, '!');
      assert.equal(mode(file), isRoot() ? 0o4777 : 0o777);
    },
    except: {
      on: 'mount',
      why: WHY_MODES,
      instead(dir) {
        const file = put(dir, 'a.md', 'text');
        fs.chmodSync(file, 0o6777);
        assert.equal(mode(file), 0o600);
        fs.appendFileSync(file, '!');
        assert.equal(mode(file), 0o600);
        assert.equal(text(file), 'text!');
      },
    },
  },
  {
    name: 'chown to oneself is accepted',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      const [uid, gid] = [process.geteuid?.() ?? -1, process.getegid?.() ?? -1];
      fs.chownSync(file, uid, gid);
      withFd(file, 'r', (fd) => fs.fchownSync(fd, uid, gid));
      const found = fs.statSync(file);
      assert.deepEqual([found.uid, found.gid], [uid, gid]);
    },
  },
  {
    name: 'chown to another user is refused with EPERM, unless root asks',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      if (isRoot()) {
        fs.chownSync(file, 12_345, 12_345);
        assert.equal(fs.statSync(file).uid, 12_345);
      } else {
        refuses('EPERM', () => fs.chownSync(file, 12_345, -1));
        refuses('EPERM', () => fs.chownSync(file, -1, 12_345));
      }
    },
    except: {
      on: 'mount',
      why: 'all memory belongs to exactly one person (spec 1 and 3.4)',
      instead(dir) {
        const file = put(dir, 'a.md', 'text');
        refuses('EPERM', () => fs.chownSync(file, 12_345, -1));
        refuses('EPERM', () => fs.chownSync(file, -1, 12_345));
        refuses('EPERM', () => fs.chownSync(dir, 12_345, 12_345));
        assert.equal(fs.statSync(file).uid, process.geteuid?.());
      },
    },
  },
  {
    name: 'access tells reading and writing, and executing by the mode',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      const { R_OK, W_OK, X_OK, F_OK } = fs.constants;
      fs.accessSync(file, R_OK | W_OK);
      fs.accessSync(dir, R_OK | W_OK | X_OK);
      refuses('EACCES', () => fs.accessSync(file, X_OK));
      refuses('ENOENT', () => fs.accessSync(path.join(dir, 'none'), F_OK));
    },
  },
];
