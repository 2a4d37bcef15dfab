import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { mtime, type PosixCase, put, text } from '../posix-case.js';

/** Runs a program in the folder; a status other than 0 throws with what it said. */
function tool(dir: string, program: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: dir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The programs that people and harnesses put on a memory folder, run as they are. */
export const tools: PosixCase[] = [
  {
    name: 'cp, cp -p and mv',
    run(dir) {
      put(dir, 'a.md', 'text\n');
      fs.utimesSync(path.join(dir, 'a.md'), 1_000_000_000, 1_000_000_000);
      tool(dir, 'cp', 'a.md', 'b.md');
      tool(dir, 'cp', '-p', 'a.md', 'c.md');
      tool(dir, 'mv', 'b.md', 'd.md');
      assert.equal(text(path.join(dir, 'd.md')), 'text\n');
      assert.equal(mtime(path.join(dir, 'c.md')), 1_000_000_000n * 1_000_000_000n);
    },
  },
  {
    name: 'mkdir -p, cp -r, find and rm -r',
    run(dir) {
      tool(dir, 'mkdir', '-p', 'one/two');
      put(path.join(dir, 'one', 'two'), 'a.md', 'text\n');
      tool(dir, 'cp', '-r', 'one', 'three');
      assert.equal(tool(dir, 'find', 'three', '-type', 'f').trim(), 'three/two/a.md');
      tool(dir, 'rm', '-r', 'one', 'three');
      assert.deepEqual(fs.readdirSync(dir), []);
    },
  },
  {
    name: 'sed -i, sort -o, tee -a and a shell redirection',
    run(dir) {
      const file = put(dir, 'a.md', 'b\na\n');
      tool(dir, 'sed', '-i', 's/b/z/', 'a.md');
      tool(dir, 'sort', '-o', 'a.md', 'a.md');
      tool(dir, 'sh', '-c', 'echo more | tee -a a.md >/dev/null; echo last >> a.md');
      assert.equal(text(file), 'a\nz\nmore\nlast\n');
      tool(dir, 'sh', '-c', 'echo new > a.md; { echo one; cat a.md; } > b.md; : > c.md');
      assert.equal(text(path.join(dir, 'b.md')), 'one\nnew\n');
      assert.equal(text(path.join(dir, 'c.md')), '');
      assert.deepEqual(fs.readdirSync(dir).sort(), ['a.md', 'b.md', 'c.md']);
    },
  },
  {
    name: 'tar out and in keeps content and times',
    run(dir) {
      put(dir, 'a.md', 'text\n');
      fs.utimesSync(path.join(dir, 'a.md'), 1_000_000_000, 1_000_000_000);
      fs.mkdirSync(path.join(dir, 'out'));
      tool(dir, 'tar', '-cf', 'notes.tar', 'a.md');
      tool(dir, 'tar', '-xf', 'notes.tar', '-C', 'out');
      assert.equal(text(path.join(dir, 'out', 'a.md')), 'text\n');
      assert.equal(mtime(path.join(dir, 'out', 'a.md')), 1_000_000_000n * 1_000_000_000n);
    },
  },
  {
    name: 'ls -l, cat, wc, head, tail, grep -r and diff',
    run(dir) {
      put(dir, 'a.md', 'one\ntwo\nthree\n');
      put(dir, 'b.md', 'one\ntwo\nthree\n');
      assert.match(tool(dir, 'ls', '-l'), / 14 .* a\.md\n/);
      assert.equal(tool(dir, 'cat', 'a.md', 'b.md').length, 28);
      assert.match(tool(dir, 'wc', '-l', 'a.md'), /^3 /);
      assert.equal(tool(dir, 'head', '-n1', 'a.md'), 'one\n');
      assert.equal(tool(dir, 'tail', '-n1', 'a.md'), 'three\n');
      assert.equal(tool(dir, 'grep', '-rl', 'two', '.').trim().split('\n').length, 2);
      assert.equal(tool(dir, 'diff', '-r', 'a.md', 'b.md'), '');
    },
  },
  {
    name: 'touch makes, dates and keeps',
    run(dir) {
      tool(dir, 'touch', 'a.md');
      tool(dir, 'touch', '-d', '@1000000000.5', 'a.md');
      assert.equal(mtime(path.join(dir, 'a.md')), 1_000_000_000_500_000_000n);
      tool(dir, 'touch', '-r', 'a.md', 'b.md');
      assert.equal(mtime(path.join(dir, 'b.md')), 1_000_000_000_500_000_000n);
    },
  },
  {
    name: 'dd with seek, conv=notrunc and fsync; truncate -s',
    run(dir) {
      put(dir, 'in', 'XY');
      const file = put(dir, 'a.md', 'abcdef');
      tool(dir, 'dd', 'if=in', 'of=a.md', 'bs=1', 'seek=2', 'conv=notrunc,fsync', 'status=none');
      assert.equal(text(file), 'abXYef');
      tool(dir, 'truncate', '-s', '3', 'a.md');
      assert.equal(text(file), 'abX');
    },
  },
];
