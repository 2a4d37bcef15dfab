import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type PosixCase, put, refuses, text, withFd } from '../posix-case.js';

const MB = 1_048_576;
const WHY_SIZE = 'a file has at most 1 MB; over it the call fails with nothing stored and nothing lost (spec 3.5)';
const WHY_TOTAL = 'a project has at most 2,000 files and 32 MB, and df tells what is left (spec 3.5)';

/** Runs `step` until it is refused, at most `most` times; returns how many times it went well. */
function untilRefused(codes: string[], most: number, step: (index: number) => void): number {
  for (let index = 0; index < most; index++) {
    try {
      step(index);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      assert.ok(codes.includes(code), `expected ${codes.join(' or ')}, got ${code}`);
      return index;
    }
  }
  return most;
}

function bytesLeft(dir: string): number {
  const { bavail, bsize } = fs.statfsSync(dir);
  return bavail * bsize;
}

export const space: PosixCase[] = [
  {
    name: 'statfs tells sizes that fit together',
    run(dir) {
      const found = fs.statfsSync(dir);
      assert.ok(found.bsize > 0 && found.blocks > 0);
      assert.ok(found.bavail <= found.bfree && found.bfree <= found.blocks);
      assert.ok(found.ffree <= found.files);
    },
  },
  {
    name: 'statfs tells the limits and what is used of them',
    run(dir) {
      put(dir, 'a.md', 'text');
      assert.ok(bytesLeft(dir) > 0);
    },
    except: {
      on: 'mount',
      why: WHY_TOTAL,
      instead(dir) {
        const before = fs.statfsSync(dir);
        assert.equal(before.files, 2000);
        const total = before.blocks * before.bsize;
        assert.ok(total >= 32_000_000 && total <= 32 * MB, `df shows ${total} bytes`);
        const left = bytesLeft(dir);
        put(dir, 'a.md', Buffer.alloc(500_000, 'x'));
        assert.equal(before.ffree - fs.statfsSync(dir).ffree, 1);
        const used = left - bytesLeft(dir);
        assert.ok(used >= 500_000 && used < 500_000 + 2 * before.bsize, `500,000 bytes count as ${used}`);
        fs.unlinkSync(path.join(dir, 'a.md'));
        assert.equal(bytesLeft(dir), left);
        assert.equal(fs.statfsSync(dir).ffree, before.ffree);
      },
    },
  },
  {
    name: 'a file grows beyond 1 MB',
    run(dir) {
      const file = put(dir, 'a.md', Buffer.alloc(2 * MB, 'x'));
      assert.equal(fs.statSync(file).size, 2 * MB);
    },
    except: {
      on: 'mount',
      why: WHY_SIZE,
      instead(dir) {
        const file = path.join(dir, 'a.md');
        const block = Buffer.alloc(65_536, 'x');
        let written = 0;
        withFd(file, 'wx+', (fd) => {
          untilRefused(['EFBIG'], 40, () => {
            written += fs.writeSync(fd, block);
          });
          assert.equal(fs.fstatSync(fd).size, written);
        });
        assert.ok(written >= 15 * 65_536 && written <= MB, `refused after ${written} bytes`);
        assert.ok(fs.readFileSync(file).equals(Buffer.alloc(written, 'x')));
      },
    },
  },
  {
    name: 'a write and a truncation far out make a file with a hole',
    run(dir) {
      const file = put(dir, 'a.md', 'text');
      withFd(file, 'r+', (fd) => fs.writeSync(fd, '!', 3 * MB));
      assert.equal(fs.statSync(file).size, 3 * MB + 1);
      fs.truncateSync(file, 5 * MB);
      assert.equal(fs.statSync(file).size, 5 * MB);
    },
    except: {
      on: 'mount',
      why: WHY_SIZE,
      instead(dir) {
        const file = put(dir, 'a.md', 'text');
        withFd(file, 'r+', (fd) => {
          refuses('EFBIG', () => fs.writeSync(fd, '!', 3 * MB));
          refuses('EFBIG', () => fs.ftruncateSync(fd, 3 * MB));
          assert.equal(fs.fstatSync(fd).size, 4);
          fs.writeSync(fd, '!', 4);
        });
        refuses('EFBIG', () => fs.truncateSync(file, 3 * MB));
        assert.equal(text(file), 'text!');
      },
    },
  },
  {
    name: 'more than 2,000 files fit',
    run(dir) {
      for (let index = 0; index < 2100; index++) put(dir, `${index}.md`);
      assert.equal(fs.readdirSync(dir).length, 2100);
    },
    except: {
      on: 'mount',
      why: WHY_TOTAL,
      instead(dir) {
        const kept = put(dir, 'kept.md', 'text');
        const left = fs.statfsSync(dir).ffree;
        const made = untilRefused(['EDQUOT', 'ENOSPC'], 2100, (index) => put(dir, `${index}.md`));
        assert.equal(made, left);
        assert.equal(fs.statfsSync(dir).ffree, 0);
        assert.equal(text(kept), 'text');
        refuses(['EDQUOT', 'ENOSPC'], () => fs.openSync(path.join(dir, 'more.md'), 'wx'));
        fs.writeFileSync(kept, 'still saved');
        assert.equal(text(kept), 'still saved');
        fs.unlinkSync(path.join(dir, '0.md'));
        assert.equal(text(put(dir, 'more.md', 'fits')), 'fits');
      },
    },
  },
  {
    name: 'more than 32 MB fit',
    run(dir) {
      for (let index = 0; index < 36; index++) put(dir, `${index}.md`, Buffer.alloc(1_000_000, 'x'));
      assert.equal(fs.readdirSync(dir).length, 36);
    },
    except: {
      on: 'mount',
      why: WHY_TOTAL,
      instead(dir) {
        const kept = put(dir, 'kept.md', 'text');
        const block = Buffer.alloc(1_000_000, 'x');
        const made = untilRefused(['EDQUOT', 'ENOSPC'], 36, (index) => put(dir, `${index}.md`, block));
        assert.ok(made >= 31 && made <= 33, `refused after ${made} MB`);
        assert.equal(text(kept), 'text');
        for (let index = 0; index < made; index++) {
          assert.ok(fs.readFileSync(path.join(dir, `${index}.md`)).equals(block));
        }
        fs.unlinkSync(path.join(dir, '0.md'));
        put(dir, 'more.md', Buffer.alloc(500_000, 'y'));
      },
    },
  },
];
