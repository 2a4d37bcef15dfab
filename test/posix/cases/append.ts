import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type PosixCase, put, text, withFd } from '../posix-case.js';

const appender = `
const fs = require('node:fs');
const [file, name, count] = process.argv.slice(1);
const fd = fs.openSync(file, 'a');
for (let at = 0; at < Number(count); at++) fs.writeSync(fd, name + ' line ' + at + ' ' + name.repeat(at % 40) + '\\n');
fs.closeSync(fd);
`;

/** Appends lines from a process of its own, in the session of the caller. */
function appendFrom(file: string, name: string, count: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', appender, file, name, String(count)], { stdio: 'ignore' });
    child.on('error', reject);
    child.on('exit', resolve);
  });
}

export const append: PosixCase[] = [
  {
    name: 'O_APPEND writes at the end whatever was read or written elsewhere',
    run(dir) {
      const file = put(dir, 'a.md', 'one\n');
      withFd(file, 'a+', (fd) => {
        fs.readSync(fd, Buffer.alloc(2), 0, 2, 0);
        fs.writeSync(fd, 'two\n');
        withFd(file, 'r+', (other) => fs.writeSync(other, 'ONE\nTWO\nmore\n'));
        fs.writeSync(fd, 'last\n');
      });
      assert.equal(text(file), 'ONE\nTWO\nmore\nlast\n');
    },
  },
  {
    name: 'two descriptors with O_APPEND take turns without overwriting',
    run(dir) {
      const file = path.join(dir, 'a.md');
      withFd(file, 'a', (one) =>
        withFd(file, 'a', (two) => {
          for (let turn = 0; turn < 20; turn++) {
            fs.writeSync(one, `one ${turn}\n`);
            fs.writeSync(two, `two ${turn}\n`);
          }
        }),
      );
      const expected = Array.from({ length: 20 }, (_, turn) => `one ${turn}\ntwo ${turn}\n`).join('');
      assert.equal(text(file), expected);
    },
  },
  {
    name: 'O_APPEND after a truncation goes to the new end',
    run(dir) {
      const file = put(dir, 'a.md', 'a long text');
      withFd(file, 'a', (fd) => {
        fs.ftruncateSync(fd, 1);
        fs.writeSync(fd, 'b');
      });
      assert.equal(text(file), 'ab');
    },
  },
  {
    name: 'two processes of one session append whole lines, each in its order',
    async run(dir) {
      const file = put(dir, 'log.md', '');
      const ends = await Promise.all([appendFrom(file, 'a', 200), appendFrom(file, 'b', 200)]);
      assert.deepEqual(ends, [0, 0]);
      const lines = text(file).split('\n');
      assert.equal(lines.pop(), '');
      assert.equal(lines.length, 400);
      for (const name of ['a', 'b']) {
        const own = lines.filter((line) => line.startsWith(`${name} `));
        const expected = Array.from({ length: 200 }, (_, at) => `${name} line ${at} ${name.repeat(at % 40)}`);
        assert.deepEqual(own, expected);
      }
    },
  },
];
