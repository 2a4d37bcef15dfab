import { execFileSync } from 'node:child_process';
import { chownSync, closeSync, openSync, readFileSync, statSync, truncateSync, utimesSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isRoot } from '../support/users.js';
import { examined, expectAmong, expectFault, faults } from './doctor.js';
import { Person } from './person.js';

let person: Person;
let file: string;

beforeEach(async () => {
  person = await Person.make();
  file = join(person.store, 'store.db');
});

afterEach(async () => {
  await person.remove();
});

/** A store with some memory that nobody has open, looked at from outside the repository. */
async function filled(): Promise<void> {
  await person.shell(
    'mkdir -p "$M"; for i in $(seq 40); do head -c 20000 /dev/urandom > "$M/$i.bin"; done; printf x > "$M/a.md"',
  );
  await person.done('mount');
  await person.rest();
}

/** The faults of the store, and that looking changed nothing. */
async function look(options: { cwd?: string; env?: Record<string, string> } = {}) {
  const before = person.snapshot();
  const findings = await examined(person, { cwd: '/', ...options });
  expect(person.snapshot()).toEqual(before);
  return findings;
}

describe('a store', () => {
  beforeEach(filled);

  test.each([['0750'], ['0711']])('in a folder of mode %s', async (mode) => {
    await person.shell(`chmod ${mode} "$S"`);
    expectFault(await look(), /^problem store-files: others may enter the store's folder \S+: run "chmod 700 /);
  });

  test.each([['0640'], ['0604']])('of mode %s', async (mode) => {
    await person.shell(`chmod ${mode} "$S/store.db"`);
    expectFault(await look(), /^problem store-files: others may read the store \S+store\.db: run "chmod 600 /);
  });

  test.runIf(isRoot)('of another owner', async () => {
    chownSync(file, 0, person.user.gid);
    expectFault(await look(), /^problem store-files: \S+store\.db belongs to user 0: set MEND_STORE_DIR/);
    chownSync(person.store, 0, person.user.gid);
    expectAmong(
      await look(),
      /^problem store-files: the store folder \S+ belongs to user 0, not to you: set MEND_STORE_DIR/,
    );
  });

  test('that is a link', async () => {
    await person.shell('mv "$S/store.db" "$S/real.db"; ln -s real.db "$S/store.db"');
    expectFault(await look(), /^problem store-files: \S+store\.db is not a regular file: move it away/);
  });

  test('of a newer schema', async () => {
    const db = new Database(file);
    db.pragma(`user_version = ${(db.pragma('user_version', { simple: true }) as number) + 1}`);
    db.close();
    expectFault(await look(), /^problem store: the store \S+ was made by a newer mend [^\n]*: upgrade mend/);
  });

  test('of another program', async () => {
    await person.shell('rm "$S/store.db"');
    const db = new Database(file);
    db.exec('CREATE TABLE recipe (name)');
    db.close();
    if (isRoot) chownSync(file, person.user.uid, person.user.gid);
    await person.shell('chmod 600 "$S/store.db"');
    expectFault(await look(), /^problem store: \S+ is not a mend store: move it away/);
  });

  test('that was cut short', async () => {
    truncateSync(file, Math.floor(statSync(file).size / 3));
    expectAmong(await look(), /^problem store: the store (\S+ )?is damaged/);
  });

  test('with damage in its middle, with which it can still be opened', async () => {
    const pages = Math.floor(statSync(file).size / 4096);
    const fd = openSync(file, 'r+');
    for (let page = Math.floor(pages / 2); page < pages - 4; page++)
      writeSync(fd, Buffer.alloc(64, 0xa5), 0, 64, page * 4096);
    closeSync(fd);
    expectAmong(await look(), /^problem store: the store (\S+ )?is damaged/);
  });

  test('with an old backup of before an upgrade', async () => {
    const backup = join(person.store, 'store.db.schema-1.backup');
    await person.shell('cp "$S/store.db" "$S/store.db.schema-1.backup"');
    expect(faults(await look())).toEqual([]);
    const old = Date.now() / 1000 - 60 * 24 * 60 * 60;
    utimesSync(backup, old, old);
    expectFault(
      await look(),
      /^warning backups: \S+store\.db\.schema-1\.backup \([^)]*\) is a backup from before an upgrade, 60 days old, with what was removed since: delete it when all is well: rm /,
    );
  });

  test('with what a mend that was killed left behind', async () => {
    await person.shell('touch "$S/store.db.schema-1.backup.4194999" "$S/machine-id.0123abcd.tmp"');
    const findings = await look();
    expectAmong(
      findings,
      /^warning leftovers: \S+store\.db\.schema-1\.backup\.4194999 was left by a mend that was killed: delete it: rm /,
    );
    expectAmong(findings, /^warning leftovers: \S+machine-id\.0123abcd\.tmp was left/);
  });

  test('whose log was left behind is looked at with it, and left as it is', async () => {
    // A connection that dies leaves its log.
    const script = `
      const Database = require(process.argv[2]);
      const db = new Database(process.argv[1]);
      db.pragma('wal_autocheckpoint = 0');
      db.exec("UPDATE project SET name = 'orchard'");
      process.kill(process.pid, 'SIGKILL');`;
    const module = join(import.meta.dirname, '../../node_modules/better-sqlite3');
    if (isRoot)
      execFileSync('sh', ['-c', `"$0" -e "$1" "$2" "$3" || test $? = 137`, process.execPath, script, file, module]);
    else await person.user.run([process.execPath, '-e', script, file, module]);
    if (isRoot) for (const end of ['-wal', '-shm']) chownSync(file + end, person.user.uid, person.user.gid);
    await person.shell('chmod 600 "$S"/store.db-*; rm -rf garden');
    const before = person.snapshot().filter((line) => !line.includes('-shm'));
    expectFault(await examined(person, { cwd: '/' }), /^warning checkouts: project "orchard" has no checkout/);
    expect(person.snapshot().filter((line) => !line.includes('-shm'))).toEqual(before);
  });
});

test('a store of an older schema is looked at, and upgraded by others', async () => {
  await person.shell('mkdir -p "$S"; chmod 700 "$S"');
  const db = new Database(file);
  const schema = join(import.meta.dirname, '../../src/store/schema');
  for (const name of ['001-projects.sql', '001.sql']) db.exec(readFileSync(join(schema, name), 'utf8'));
  db.pragma(`application_id = ${0x6d656e64}`);
  db.pragma('user_version = 1');
  db.close();
  if (isRoot) chownSync(file, person.user.uid, person.user.gid);
  await person.shell('chmod 600 "$S/store.db"');
  expectFault(
    await look(),
    /^warning store-schema: the store has schema 1, and this mend uses \d+: run any command that uses it/,
  );
  await person.done('project', 'list');
  expect(faults(await look())).toEqual([]);
});

describe('the place of the store', () => {
  test('is a file', async () => {
    await person.shell('mkdir -p "$(dirname "$S")"; printf x > "$S"');
    expectAmong(await look(), /^problem store-files: the store folder \S+ is not a folder: move it away/);
  });

  test('is a FUSE file system, or a dead one', async () => {
    await person.done('mount');
    const inside = { MEND_STORE_DIR: join(person.memory, 'store') };
    expectAmong(
      await examined(person, { cwd: '/', env: inside }),
      /^problem store-disk: the store would lie on FUSE, where its log is not safe \(\S+\): set MEND_STORE_DIR to a folder on a disk/,
    );
    for (const pid of person.processes()) process.kill(pid, 'SIGKILL');
    expectAmong(
      await examined(person, { cwd: '/', env: inside }),
      /^problem store-files: \S+ lies in a mount that does not answer: take that mount off, or set MEND_STORE_DIR/,
    );
  });

  test.runIf(isRoot)('is memory, with little room', async () => {
    await person.shell('mkdir -p "$S"');
    const { uid, gid } = person.user;
    const mount = (size: string): Buffer =>
      execFileSync('mount', [
        '-t',
        'tmpfs',
        '-o',
        `size=${size},mode=700,uid=${uid},gid=${gid}`,
        'mend-small',
        person.store,
      ]);
    for (const [size, fault] of [
      ['1g', undefined],
      ['64m', /^warning disk-space: only 6\d(\.\d)? MB are free where the store lies: free some space/],
      ['8m', /^problem disk-space: only 8 MB are free/],
    ] as const) {
      mount(size);
      try {
        const findings = await examined(person, { cwd: '/' });
        expectAmong(
          findings,
          /^warning store-disk: the store lies in memory \(tmpfs\) and is gone after a restart: set MEND_STORE_DIR/,
        );
        if (fault) expectAmong(findings, fault);
        else expect(findings.find(({ check }) => check === 'disk-space')).toMatchObject({ status: 'ok' });
      } finally {
        execFileSync('umount', ['--lazy', person.store]);
      }
    }
  });
});
