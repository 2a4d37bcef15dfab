import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { mtime, type PosixCase, put, sleep, text, withFd } from '../posix-case.js';

/** Sets both times by path, in seconds. */
function touch(file: string, seconds: number): void {
  fs.utimesSync(file, seconds, seconds);
}

function assertRises(file: string, change: () => void): void {
  const before = mtime(file);
  sleep(20);
  change();
  assert.ok(mtime(file) > before, 'the modification time did not rise');
}

export const times: PosixCase[] = [
  {
    name: 'a new file has the time of now',
    run(dir) {
      const before = Date.now();
      const { mtimeMs, ctimeMs } = fs.statSync(put(dir, 'a.md', 'x'));
      assert.ok(Math.abs(mtimeMs - before) < 2000);
      assert.ok(Math.abs(ctimeMs - before) < 2000);
    },
  },
  {
    name: 'utimes sets the time of a file and of a folder, into the past and the future',
    run(dir) {
      const file = put(dir, 'a.md', 'x');
      for (const seconds of [1, 1_000_000_000, 1_234_567_890, 4_000_000_000]) {
        for (const target of [file, dir]) {
          touch(target, seconds);
          assert.equal(mtime(target), BigInt(seconds) * 1_000_000_000n);
        }
      }
      assert.equal(text(file), 'x');
    },
  },
  {
    name: 'utimes sets access and modification time apart',
    run(dir) {
      const file = put(dir, 'a.md', 'x');
      fs.utimesSync(file, 1_500_000_000, 1_600_000_000);
      const found = fs.statSync(file, { bigint: true });
      assert.equal(found.atimeNs, 1_500_000_000n * 1_000_000_000n);
      assert.equal(found.mtimeNs, 1_600_000_000n * 1_000_000_000n);
    },
  },
  {
    name: 'futimes before the close is kept: copying with times works',
    run(dir) {
      const file = path.join(dir, 'a.md');
      withFd(file, 'wx', (fd) => {
        fs.writeSync(fd, 'copied');
        fs.futimesSync(fd, 1_400_000_000, 1_400_000_000);
      });
      assert.equal(mtime(file), 1_400_000_000n * 1_000_000_000n);
      assert.equal(text(file), 'copied');
      assert.equal(mtime(file), 1_400_000_000n * 1_000_000_000n);
    },
  },
  {
    name: 'the time rises on write, append, truncate and O_TRUNC',
    run(dir) {
      const file = put(dir, 'a.md', 'some text');
      assertRises(file, () => withFd(file, 'r+', (fd) => fs.writeSync(fd, 'S', 0)));
      assertRises(file, () => fs.appendFileSync(file, '!'));
      assertRises(file, () => fs.truncateSync(file, 4));
      assertRises(file, () => fs.truncateSync(file, 8));
      assertRises(file, () => withFd(file, 'w', () => {}));
      assertRises(file, () => fs.writeFileSync(file, 'new'));
    },
  },
  {
    name: 'the time rises with each write while the file is open',
    run(dir) {
      const file = put(dir, 'a.md', '');
      withFd(file, 'r+', (fd) => {
        assertRises(file, () => fs.writeSync(fd, 'one'));
        assertRises(file, () => fs.writeSync(fd, 'two'));
        assertRises(file, () => fs.ftruncateSync(fd, 1));
      });
    },
  },
  {
    name: 'the time stays on read, stat, list, open and close, chmod and rename',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      const moved = path.join(dir, 'b.md');
      const before = mtime(file);
      sleep(20);
      text(file);
      fs.readdirSync(dir);
      withFd(file, 'r+', (fd) => fs.fsyncSync(fd));
      fs.chmodSync(file, 0o600);
      fs.renameSync(file, moved);
      assert.equal(mtime(moved), before);
    },
  },
  {
    name: 'two changes in the same instant never go back in time',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      let last = mtime(file);
      for (let at = 0; at < 50; at++) {
        fs.writeFileSync(file, `text ${at}`);
        const now = mtime(file);
        assert.ok(now >= last);
        last = now;
      }
    },
    except: {
      on: 'mount',
      why: 'every change of content raises the time above every one shown before (spec 3.8)',
      instead(dir) {
        const file = put(dir, 'a.md', 'text');
        let last = mtime(file);
        for (let at = 0; at < 50; at++) {
          fs.writeFileSync(file, `text ${at}`);
          const now = mtime(file);
          assert.ok(now > last, `change ${at} left the time where it was`);
          last = now;
        }
      },
    },
  },
  {
    name: 'a write after a time in the future brings the time of now',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      touch(file, 4_000_000_000);
      fs.writeFileSync(file, 'other');
      assert.ok(mtime(file) < 4_000_000_000n * 1_000_000_000n);
    },
    except: {
      on: 'mount',
      why: 'every change of content raises the time above every one shown before (spec 3.8)',
      instead(dir) {
        const file = put(dir, 'a.md', 'text');
        touch(file, 4_000_000_000);
        const shown = mtime(file);
        fs.writeFileSync(file, 'other');
        assert.ok(mtime(file) > shown, 'the time went back below one that was shown');
      },
    },
  },
  {
    name: 'the status change time rises on chmod, utimes and rename',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      const ctime = (of: string) => fs.statSync(of, { bigint: true }).ctimeNs;
      for (const change of [() => fs.chmodSync(file, 0o600), () => touch(file, 1_000_000_000)]) {
        const before = ctime(file);
        sleep(20);
        change();
        assert.ok(ctime(file) > before);
      }
    },
  },
];
