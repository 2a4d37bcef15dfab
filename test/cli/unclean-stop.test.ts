import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { programFolder } from '../support/program.js';
import { expectRefusal, Person, snapshot, until } from './person.js';

let person: Person;
let file: string;

beforeEach(async () => {
  person = await Person.make();
  file = join(person.store, 'store.db');
  await person.shell(
    'mkdir -p "$M"; for i in $(seq 40); do head -c 20000 /dev/urandom > "$M/$i.bin"; done; printf x > "$M/a.md"',
  );
  await person.done('mount');
});

afterEach(async () => {
  await person.remove();
});

const marks = (): string[] => readdirSync(join(person.store, 'run')).filter((name) => name.endsWith('.open'));

/** Supervisor first: nobody starts another server. */
async function killAll(): Promise<void> {
  for (const pid of person.processes()) process.kill(pid, 'SIGKILL');
  await until(() => person.processes().length === 0);
}

/** Spoils a page that the list of files does not need: one in the middle of a content. */
function spoil(): void {
  const bytes = readFileSync(file);
  // Pages of contents that go on in others begin with the number of the next.
  const pages = bytes.length / 4096;
  for (let page = Math.floor(pages / 2); page < pages; page++) {
    const next = bytes.readUInt32BE(page * 4096);
    if (next !== page + 2) continue;
    const fd = openSync(file, 'r+');
    writeSync(fd, Buffer.from([0, 0, 0, 1]), 0, 4, page * 4096);
    closeSync(fd);
    return;
  }
  throw new Error('no such page');
}

test('a mark is there while a daemon runs, whoever serves, and goes with its clean end', {
  timeout: 180_000,
}, async () => {
  expect(marks()).toHaveLength(1);
  const [, server = 0] = person.processes();
  process.kill(server, 'SIGKILL');
  await until(() => person.processes().length >= 2 && !person.processes().includes(server));
  expect(await person.shell('cat "$M/a.md"')).toBe('x');
  expect(marks()).toHaveLength(1);
  await person.rest();
  expect(marks()).toEqual([]);
});

test('after an unclean stop the first command looks, and then all goes on', { timeout: 180_000 }, async () => {
  await killAll();
  expect(marks()).toHaveLength(1);
  // Somebody else just looks whether a daemon has the lock.
  const looking = 'flock --shared "$1"/run/*.lock sh -c "echo looks; cat"';
  const other = person.user.spawn(['sh', '-euc', looking, 'sh', person.store], { cwd: '/' });
  await once(other.stdout as Readable, 'data');
  expect(await person.done('memory', 'show', 'a.md')).toBe('x');
  expect(marks()).toEqual([]);
  other.stdin?.end();
  await once(other, 'close');
  await person.done('mount');
  expect(marks()).toHaveLength(1);
});

test('a store that was damaged then is refused by every command, by name, and not touched until another is in its place', {
  timeout: 180_000,
}, async () => {
  const backup = join(person.user.home, 'backup');
  await person.done('store', 'backup', backup);
  // What was in the log is in the file afterwards.
  await person.rest();
  await person.done('mount');
  await killAll();
  spoil();
  // The log's index is written by whoever reads.
  const files = (): string[] =>
    snapshot(person.store).filter((line) => !/ (store\.db-shm|daemon\.log|run.*) /.test(line));
  const before = files();
  for (const args of [
    ['mount'],
    ['mount', '--all'],
    ['mount', '--foreground'],
    ['unmount', '--all'],
    ['status'],
    ['memory'],
    ['memory', 'show', 'a.md'],
    ['memory', 'rm', 'a.md'],
    ['memory', 'purge', 'a.md', '--confirm', 'a.md'],
    ['project', 'list'],
  ])
    expectRefusal(
      await person.mend(args),
      1,
      /the store \S+store\.db is damaged \([^)]+\): "mend store check" looks closer, and "mend store restore" puts a backup in its place; it was not changed/,
    );
  expectRefusal(await person.mend(['store', 'backup']), 1, /is damaged/);
  expect((await person.mend(['store', 'check'])).code).toBe(1);
  expect(files()).toEqual(before);
  await person.done('store', 'restore', backup);
  expect(marks()).toEqual([]);
  expect(await person.done('memory', 'show', 'a.md')).toBe('x');
  await person.done('mount');
  expect(await person.shell('cat "$M/a.md"')).toBe('x');
});

test('of a large store people are told that it is looked through, once', { timeout: 180_000 }, async () => {
  await person.rest();
  const script = `
    const db = new (require(process.argv[1]))(process.argv[2]);
    const put = db.prepare("INSERT INTO content (id, size, sha256, bytes) VALUES (?, 1000000, randomblob(32), zeroblob(1000000))");
    for (let id = 2; id < 72; id++) put.run(id);
    db.close();`;
  const module = join(programFolder(), 'node_modules/better-sqlite3');
  expect(await person.user.run([process.execPath, '-e', script, module, file])).toMatchObject({ code: 0 });
  expect(statSync(file).size).toBeGreaterThan(70_000_000);
  await person.done('mount');
  await killAll();
  const mounted = await person.mend(['mount']);
  expect(mounted).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /^mend: looking for damage in the store after an unclean stop \(\d+(\.\d+)? MB\), which takes a moment\n$/,
    ),
  });
  await person.rest();
  await person.done('mount');
});

test('a mark without a lock, as after a restart of the machine with other numbers, counts', {
  timeout: 180_000,
}, async () => {
  await person.rest();
  await person.shell('touch "$S/run/4026539999.open"');
  spoil();
  expectRefusal(await person.mend(['memory']), 1, /is damaged/);
  expect(existsSync(join(person.store, 'run/4026539999.open'))).toBe(true);
});
