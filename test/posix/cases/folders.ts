import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type PosixCase, put, refuses } from '../posix-case.js';

const ENTRIES = 500;

/** A name of about a hundred bytes, so that 500 of them take the kernel several reads of the folder. */
function longName(kind: string, index: number): string {
  return `${kind}-${String(index).padStart(4, '0')}-${'n'.repeat(88)}.md`;
}

function fill(dir: string, kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    put(dir, longName(kind, index));
    return longName(kind, index);
  });
}

/** Reads a folder in steps, calling `between` after each entry, and returns how often each name came. */
function countEntries(dir: string, between: (seen: number) => void): Map<string, number> {
  const counts = new Map<string, number>();
  const handle = fs.opendirSync(dir, { bufferSize: 1 });
  try {
    let seen = 0;
    for (let entry = handle.readSync(); entry !== null; entry = handle.readSync()) {
      counts.set(entry.name, (counts.get(entry.name) ?? 0) + 1);
      between(++seen);
    }
  } finally {
    handle.closeSync();
  }
  return counts;
}

function assertOnce(counts: Map<string, number>, names: string[]): void {
  const wrong = names.filter((name) => counts.get(name) !== 1);
  assert.equal(wrong.length, 0, `${wrong.length} of ${names.length} untouched entries not seen exactly once`);
}

/** Asserts the link count of a folder with so many folders in it; 1 stands for a file system that does not count. */
function assertLinks(dir: string, count: number): void {
  const { nlink } = fs.statSync(dir);
  assert.ok(nlink === 1 || nlink === 2 + count, `${nlink} links to a folder with ${count} folders in it`);
}

export const folders: PosixCase[] = [
  {
    name: 'the link count of a folder is two, and one more for each folder in it',
    run(dir) {
      const [a, b] = ['a', 'b'].map((name) => path.join(dir, name)) as [string, string];
      fs.mkdirSync(a);
      fs.mkdirSync(b);
      assertLinks(dir, 2);
      put(a, 'note.md');
      for (const name of ['one', 'two', 'left.tmp']) fs.mkdirSync(path.join(a, name));
      assertLinks(a, 3);
      fs.renameSync(path.join(a, 'one'), path.join(b, 'one'));
      assertLinks(a, 2);
      assertLinks(b, 1);
      fs.renameSync(path.join(a, 'two'), path.join(b, 'one'));
      assertLinks(a, 1);
      assertLinks(b, 1);
      fs.rmdirSync(path.join(a, 'left.tmp'));
      fs.rmdirSync(path.join(b, 'one'));
      assertLinks(a, 0);
      assertLinks(b, 0);
      fs.renameSync(a, path.join(b, 'a'));
      assertLinks(dir, 1);
      assertLinks(b, 1);
    },
  },
  {
    name: 'mkdir, list, rmdir',
    run(dir) {
      const made = path.join(dir, 'd');
      fs.mkdirSync(made);
      assert.ok(fs.statSync(made).isDirectory());
      assert.deepEqual(fs.readdirSync(made), []);
      fs.rmdirSync(made);
      refuses('ENOENT', () => fs.readdirSync(made));
    },
  },
  {
    name: 'mkdir with a trailing slash and mkdir -p',
    run(dir) {
      fs.mkdirSync(`${dir}/d/`);
      fs.mkdirSync(path.join(dir, 'd', 'e', 'f'), { recursive: true });
      fs.mkdirSync(path.join(dir, 'd', 'e', 'f'), { recursive: true });
      assert.deepEqual(fs.readdirSync(path.join(dir, 'd', 'e')), ['f']);
    },
  },
  {
    name: 'an entry has the type that stat tells',
    run(dir) {
      put(dir, 'a.md', 'x');
      fs.mkdirSync(path.join(dir, 'd'));
      const types = fs.readdirSync(dir, { withFileTypes: true }).map((entry) => [entry.name, entry.isDirectory()]);
      assert.deepEqual(types.sort(), [
        ['a.md', false],
        ['d', true],
      ]);
    },
  },
  {
    name: 'a folder of 500 entries lists each exactly once',
    run(dir) {
      const names = fill(dir, 'keep', ENTRIES);
      assert.deepEqual(fs.readdirSync(dir).sort(), names);
      assertOnce(
        countEntries(dir, () => {}),
        names,
      );
    },
  },
  {
    name: 'while 500 entries are created, each untouched entry is seen exactly once',
    run(dir) {
      const names = fill(dir, 'keep', ENTRIES);
      let made = 0;
      const counts = countEntries(dir, () => {
        if (made < ENTRIES) put(dir, longName(made % 2 ? 'aaaa' : 'zzzz', made++));
      });
      assertOnce(counts, names);
      for (const [name, count] of counts) assert.equal(count, 1, `${name.slice(0, 9)} came ${count} times`);
      assert.equal(fs.readdirSync(dir).length, ENTRIES + made);
    },
  },
  {
    name: 'while 500 entries are removed, each untouched entry is seen exactly once',
    run(dir) {
      const gone = [...fill(dir, 'aaaa', ENTRIES / 2), ...fill(dir, 'zzzz', ENTRIES / 2)];
      const names = fill(dir, 'keep', ENTRIES);
      const counts = countEntries(dir, () => {
        for (const name of gone.splice(0, 2)) fs.unlinkSync(path.join(dir, name));
      });
      assertOnce(counts, names);
      for (const [name, count] of counts) assert.equal(count, 1, `${name.slice(0, 9)} came ${count} times`);
      assert.deepEqual(fs.readdirSync(dir).sort(), names);
    },
  },
  {
    name: 'while entries are renamed, each untouched entry is seen exactly once',
    run(dir) {
      const moving = fill(dir, 'move', ENTRIES / 2);
      const names = fill(dir, 'keep', ENTRIES);
      let at = 0;
      const counts = countEntries(dir, () => {
        const name = moving[at];
        if (name !== undefined) fs.renameSync(path.join(dir, name), path.join(dir, longName('done', at++)));
      });
      assertOnce(counts, names);
    },
  },
  {
    name: 'removing every entry as it is read empties the folder',
    run(dir) {
      fill(dir, 'gone', ENTRIES);
      const handle = fs.opendirSync(dir, { bufferSize: 1 });
      for (let entry = handle.readSync(); entry !== null; entry = handle.readSync()) {
        fs.unlinkSync(path.join(dir, entry.name));
      }
      handle.closeSync();
      assert.deepEqual(fs.readdirSync(dir), []);
    },
  },
  {
    name: 'a change in a folder raises the time of the folder',
    run(dir) {
      const shown: bigint[] = [];
      const look = () => shown.push(fs.statSync(dir, { bigint: true }).mtimeNs);
      const steps = [
        () => put(dir, 'a.md'),
        () => fs.renameSync(path.join(dir, 'a.md'), path.join(dir, 'b.md')),
        () => fs.mkdirSync(path.join(dir, 'd')),
        () => fs.unlinkSync(path.join(dir, 'b.md')),
        () => fs.rmdirSync(path.join(dir, 'd')),
      ];
      look();
      for (const step of steps) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
        step();
        look();
      }
      shown.slice(1).forEach((time, index) => {
        assert.ok(time > (shown[index] ?? 0n), `step ${index + 1} left the time`);
      });
    },
  },
  {
    name: 'rmdir of a folder with a file or a folder in it is refused with ENOTEMPTY',
    run(dir) {
      fs.mkdirSync(path.join(dir, 'd', 'e'), { recursive: true });
      refuses('ENOTEMPTY', () => fs.rmdirSync(path.join(dir, 'd')));
      put(path.join(dir, 'd', 'e'), 'a.md');
      refuses('ENOTEMPTY', () => fs.rmdirSync(path.join(dir, 'd', 'e')));
    },
  },
];
