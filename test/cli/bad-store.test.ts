import { chownSync, closeSync, openSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isRoot } from '../support/users.js';
import { expectRefusal, Person } from './person.js';

let person: Person;
let file: string;

beforeEach(async () => {
  person = await Person.make();
  file = join(person.store, 'store.db');
  await person.shell(
    'mkdir -p "$M"; for i in $(seq 40); do head -c 20000 /dev/urandom > "$M/$i.bin"; done; printf x > "$M/a.md"',
  );
  await person.done('mount');
  await person.rest();
  // What the daemon left for itself is no part of what must stay as it is.
  await person.shell('rm -r "$S/run" "$S/daemon.log"');
});

afterEach(async () => {
  await person.remove();
});

/** The commands that use the store. */
const all = [
  ['mount'],
  ['mount', '--project', 'garden'],
  ['unmount'],
  ['status'],
  ['memory'],
  ['memory', 'rm', 'a.md'],
  ['store', 'backup'],
  ['project', 'list'],
];

/** Every command is refused with the sentence; nothing is mounted and nothing changes. */
async function allRefused(sentence: RegExp, commands = all): Promise<void> {
  const before = person.snapshot();
  for (const args of commands) {
    expectRefusal(await person.mend(args), 1, sentence);
    expect(person.mounts()).toEqual([]);
  }
  expect(person.snapshot()).toEqual(before);
}

describe('a store', { timeout: 120_000 }, () => {
  test('of a newer schema', async () => {
    const db = new Database(file);
    const version = db.pragma('user_version', { simple: true }) as number;
    db.pragma(`user_version = ${version + 1}`);
    db.close();
    await allRefused(
      new RegExp(`was made by a newer mend \\(schema ${version + 1}, this one knows ${version}\\): upgrade mend`),
    );
  });

  test('of another program', async () => {
    await person.shell('rm "$S/store.db"');
    const db = new Database(file);
    db.exec('CREATE TABLE recipe (name)');
    db.close();
    if (isRoot) chownSync(file, person.user.uid, person.user.gid);
    await person.shell('chmod 600 "$S/store.db"');
    await allRefused(/is not a mend store: move it away or set MEND_STORE_DIR/);
  });

  test('that is not a database', async () => {
    writeFileSync(file, 'Dear diary, today I learned how to prune apple trees.\n'.repeat(100));
    await allRefused(
      /is damaged \(it does not begin as a database does\): "mend store check" looks closer, and "mend store restore" puts a backup in its place; it was not changed/,
    );
  });

  test('that is empty, though it was used', async () => {
    await person.shell('mkdir -m 700 "$S/run"; : > "$S/store.db"');
    await allRefused(/is damaged \(it is empty, though it was used before\)/);
  });

  test('whose log is none', async () => {
    await person.shell('umask 077; echo "Dear diary, I have pruned the apple trees." > "$S/store.db-wal"');
    await allRefused(/is damaged \(its log does not begin as a log does\)/);
  });

  test('that is a folder', async () => {
    await person.shell('rm "$S/store.db"; mkdir -m 700 "$S/store.db"');
    await allRefused(/the store \S+ is not a regular file: move it away/);
  });

  test('that was cut short', async () => {
    truncateSync(file, Math.floor(statSync(file).size / 3));
    await allRefused(/is damaged/);
  });

  test('whose first page is overwritten behind the header', async () => {
    overwrite(100, 3000);
    await allRefused(/is damaged/);
  });

  test('with a damaged page in its middle is not mounted', async () => {
    for (let at = 4096; at < statSync(file).size; at += 4096) overwrite(at, 64);
    await allRefused(/is damaged/, [
      ['mount'],
      ['mount', '--foreground'],
      ['mount', '--all'],
      ['memory'],
      ['memory', 'show', 'a.md'],
      ['memory', 'rm', 'a.md'],
    ]);
  });

  test.each([['0640'], ['0604'], ['0660']])('of mode %s', async (mode) => {
    await person.shell(`chmod ${mode} "$S/store.db"`);
    await allRefused(/others may read the store \S+store\.db: run "chmod 600 \S+store\.db"/);
  });

  test.each([['0750'], ['0705'], ['0711']])('in a folder of mode %s', async (mode) => {
    await person.shell(`chmod ${mode} "$S"`);
    await allRefused(/others may enter the store folder \S+: run "chmod 700 \S+"/);
  });

  test.runIf(isRoot)('of another owner', async () => {
    chownSync(file, 0, person.user.gid);
    await allRefused(/store\.db belongs to user 0, not to you: set MEND_STORE_DIR to a folder of yours/);
  });

  test.runIf(isRoot)('in a folder of another owner', async () => {
    chownSync(person.store, 0, person.user.gid);
    await allRefused(/the store folder \S+ belongs to user 0, not to you: set MEND_STORE_DIR to a folder of yours/);
  });

  test.runIf(isRoot)('that cannot be reached', async () => {
    chownSync(join(person.store, '..'), 0, 0);
    await allRefused(/the store folder \S+ (cannot be reached \(EACCES\)|belongs to)/);
  });

  test('that is a symbolic link', async () => {
    await person.shell('mv "$S/store.db" "$S/real.db"; ln -s real.db "$S/store.db"');
    await allRefused(/the store \S+ is not a regular file: move it away/);
  });

  test('whose folder is a file', async () => {
    await person.shell('rm -r "$S"; printf x > "$S"; chmod 600 "$S"');
    await allRefused(/the store folder \S+ is not a folder: move it away or set MEND_STORE_DIR/);
  });
});

test('a store that was moved away is made anew, but not beside its log', async () => {
  await person.shell('umask 077; mkdir "$S/run"; mv "$S/store.db" "$S/old.db"; echo log > "$S/store.db-wal"');
  const before = person.snapshot();
  expectRefusal(
    await person.mend(['mount']),
    1,
    /the log \S+store\.db-wal lies there without its store: move it away, or its store back/,
  );
  expect(person.snapshot()).toEqual(before);
  await person.shell('rm "$S/store.db-wal"');
  await person.done('mount');
  expect(await person.shell('cat "$M/a.md"')).toBe('x');
});

test('MEND_STORE_DIR where nothing can be made', async () => {
  const before = person.snapshot();
  for (const folder of ['/proc/mend/store', '/sys/store', '/dev/null/store']) {
    expectRefusal(
      await person.mend(['mount'], { env: { MEND_STORE_DIR: folder } }),
      1,
      /the store folder \S+[^\n]* MEND_STORE_DIR/,
    );
  }
  expect(person.snapshot()).toEqual(before);
});

/** Overwrites bytes of the store's file. */
function overwrite(position: number, length: number): void {
  const fd = openSync(file, 'r+');
  writeSync(fd, Buffer.alloc(length, 0xa5), 0, length, position);
  closeSync(fd);
}
