import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type PosixCase, put, refuses, text, textOf, withFd } from '../posix-case.js';

/** Bytes that differ at every offset within a window, so that a misplaced block shows. */
function pattern(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at++) bytes[at] = (at * 31 + (at >> 8) * 7 + (at >> 16)) & 0xff;
  return bytes;
}

export const content: PosixCase[] = [
  {
    name: 'bytes come back as they were written, at sizes around page and block borders',
    run(dir) {
      for (const size of [0, 1, 4095, 4096, 4097, 65_535, 65_536, 131_073, 300_001]) {
        const file = put(dir, `f${size}.md`, pattern(size));
        assert.equal(fs.statSync(file).size, size);
        assert.ok(fs.readFileSync(file).equals(pattern(size)), `${size} bytes differ`);
      }
    },
  },
  {
    name: 'small writes add up',
    run(dir) {
      const file = path.join(dir, 'a.md');
      const whole = pattern(20_000);
      withFd(file, 'w+', (fd) => {
        for (let at = 0; at < whole.length; at += 97) fs.writeSync(fd, whole, at, Math.min(97, whole.length - at));
        assert.equal(fs.fstatSync(fd).size, whole.length);
      });
      assert.ok(fs.readFileSync(file).equals(whole));
    },
  },
  {
    name: 'writes in any order and over each other give the last one at every byte',
    run(dir) {
      const file = path.join(dir, 'a.md');
      withFd(file, 'w+', (fd) => {
        fs.writeSync(fd, 'cccc', 8);
        fs.writeSync(fd, 'aaaa', 0);
        fs.writeSync(fd, 'bbbb', 4);
        fs.writeSync(fd, 'XX', 3);
        fs.writeSync(fd, 'YYY', 7);
        assert.equal(textOf(fd), 'aaaXXbbYYYcc');
      });
      assert.equal(text(file), 'aaaXXbbYYYcc');
    },
  },
  {
    name: 'a write past the end fills the gap with zeros',
    run(dir) {
      const file = put(dir, 'a.md', 'ab');
      withFd(file, 'r+', (fd) => fs.writeSync(fd, 'z', 5000));
      const bytes = fs.readFileSync(file);
      assert.equal(bytes.length, 5001);
      assert.equal(bytes.toString('latin1', 0, 2), 'ab');
      assert.ok(bytes.subarray(2, 5000).every((byte) => byte === 0));
      assert.equal(bytes[5000], 0x7a);
    },
  },
  {
    name: 'a read at or past the end gives nothing, one across the end gives what is there',
    run(dir) {
      withFd(put(dir, 'a.md', 'abc'), 'r', (fd) => {
        const buffer = Buffer.alloc(10);
        assert.equal(fs.readSync(fd, buffer, 0, 10, 3), 0);
        assert.equal(fs.readSync(fd, buffer, 0, 10, 100_000), 0);
        assert.equal(fs.readSync(fd, buffer, 0, 10, 1), 2);
        assert.equal(buffer.toString('utf8', 0, 2), 'bc');
      });
    },
  },
  {
    name: 'reads and writes of no bytes do nothing',
    run(dir) {
      const file = put(dir, 'a.md', 'abc');
      withFd(file, 'r+', (fd) => {
        assert.equal(fs.readSync(fd, Buffer.alloc(0), 0, 0, 0), 0);
        assert.equal(fs.writeSync(fd, Buffer.alloc(0), 0, 0, 0), 0);
        assert.equal(fs.writeSync(fd, Buffer.alloc(0), 0, 0, 900), 0);
      });
      assert.equal(text(file), 'abc');
    },
  },
  {
    name: 'a positioned read or write leaves the position',
    run(dir) {
      withFd(put(dir, 'a.md', '0123456789'), 'r+', (fd) => {
        const buffer = Buffer.alloc(2);
        fs.readSync(fd, buffer, 0, 2, null);
        fs.readSync(fd, buffer, 0, 2, 8);
        fs.writeSync(fd, 'XX', 6);
        fs.readSync(fd, buffer, 0, 2, null);
        assert.equal(buffer.toString(), '23');
      });
    },
  },
  {
    name: 'what one descriptor wrote, a fresh open reads before the close',
    run(dir) {
      const file = put(dir, 'a.md', 'old');
      withFd(file, 'w', (fd) => {
        fs.writeSync(fd, 'half');
        assert.equal(text(file), 'half');
        assert.equal(fs.statSync(file).size, 4);
        fs.writeSync(fd, ' and half');
        assert.equal(text(file), 'half and half');
      });
    },
  },
  {
    name: 'fsync and fdatasync succeed and lose nothing',
    run(dir) {
      const file = path.join(dir, 'a.md');
      withFd(file, 'w', (fd) => {
        fs.writeSync(fd, 'one');
        fs.fsyncSync(fd);
        fs.writeSync(fd, 'two');
        fs.fdatasyncSync(fd);
      });
      withFd(file, 'r', (fd) => fs.fsyncSync(fd));
      assert.equal(text(file), 'onetwo');
    },
  },
  {
    name: 'text is kept byte for byte: CRLF, BOM, NUL, no last newline, invalid UTF-8',
    run(dir) {
      const odd = [
        Buffer.from('one\r\ntwo\r\n'),
        Buffer.from([0xef, 0xbb, 0xbf, 0x61]),
        Buffer.from([0x61, 0, 0x62]),
        Buffer.from('no newline'),
        Buffer.from('blanks  \t\n\n\n'),
        Buffer.from([0xff, 0xfe, 0xc0, 0xaf]),
      ];
      odd.forEach((bytes, index) => {
        const file = put(dir, `odd${index}.md`, bytes);
        assert.ok(fs.readFileSync(file).equals(bytes));
      });
    },
  },
  {
    name: 'copyFile copies, and with COPYFILE_EXCL refuses an existing target with EEXIST',
    run(dir) {
      const from = put(dir, 'a.md', pattern(70_000));
      const to = path.join(dir, 'b.md');
      fs.copyFileSync(from, to);
      assert.ok(fs.readFileSync(to).equals(pattern(70_000)));
      refuses('EEXIST', () => fs.copyFileSync(from, to, fs.constants.COPYFILE_EXCL));
    },
  },
  {
    name: 'size, type and link count of a file and a folder',
    run(dir) {
      const file = fs.lstatSync(put(dir, 'a.md', 'four'));
      assert.ok(file.isFile());
      assert.equal(file.size, 4);
      assert.equal(file.nlink, 1);
      assert.equal(file.uid, process.geteuid?.());
      assert.ok(fs.lstatSync(dir).isDirectory());
      assert.equal(fs.lstatSync(dir).uid, process.geteuid?.());
    },
  },
];
