import { chownSync, copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { programFolder } from '../support/program.js';
import { isRoot } from '../support/users.js';
import { expectRefusal, Person } from './person.js';
import { filesWith } from './store-files.js';

let person: Person;
let file: string;

beforeEach(async () => {
  person = await Person.make();
  file = join(person.store, 'store.db');
  await person.shell('mkdir -p "$M"; echo one > "$M/a.md"; echo two > "$M/b.md"');
  await person.done('mount');
});

afterEach(async () => {
  await person.remove();
});

const BACKUP = /^backed up the store to (\S+store\.db\.\d{8}T\d{6}Z(?:-\d+)?\.backup) \(\d+ KB\)\n$/;

/** Makes a backup beside the store, and gives back its path. */
async function backUp(): Promise<string> {
  const [, path = ''] = BACKUP.exec(await person.done('store', 'backup')) ?? [];
  expect(path).not.toBe('');
  return path;
}

const names = (end: string): string[] =>
  readdirSync(person.store)
    .filter((name) => name.endsWith(end))
    .sort();

async function memory(): Promise<string[]> {
  return (await person.json<{ file: string }[]>('memory')).map((one) => one.file);
}

describe('mend store check', { timeout: 180_000 }, () => {
  test('says that a store is sound, while it is served and after, and changes nothing', async () => {
    const text = await person.done('store', 'check');
    expect(text).toMatch(/^the store \S+store\.db is sound \(schema \d+, [\d.]+ KB\)\n$/);
    await person.rest();
    const before = person.snapshot();
    expect(await person.json('store', 'check')).toEqual({
      path: file,
      bytes: statSync(file).size,
      schema: expect.any(Number),
      sound: true,
      faults: [],
    });
    expect(person.snapshot()).toEqual(before);
  });

  test('names what is wrong, with status 1', async () => {
    await person.rest();
    const bytes = readFileSync(file);
    const at = bytes.indexOf('one\n');
    expect(at).toBeGreaterThan(0);
    bytes.write('0n3\n', at);
    writeFileSync(file, bytes);
    const before = person.snapshot();
    const plain = await person.mend(['store', 'check']);
    expect(plain).toMatchObject({ code: 1 });
    expect(plain.stdout).toMatch(/^contents +content \d+ is not what was stored: a\.md \(version 1\)\n$/);
    expect(plain.stderr).toMatch(/^mend: the store \S+ is damaged, with 1 fault: "mend store restore" puts a backup/);
    const { code, stdout } = await person.mend(['store', 'check', '--json']);
    expect({ code, document: JSON.parse(stdout) }).toMatchObject({
      code: 1,
      document: { sound: false, faults: [{ check: 'contents', message: expect.stringContaining('a.md') }] },
    });
    expect(person.snapshot()).toEqual(before);
    expectRefusal(await person.mend(['store', 'backup']), 1, /is damaged \(content \d+ is not what was stored/);
    expect(person.snapshot()).toEqual(before);
  });

  test('does not make a store that is not there', async () => {
    const env = { MEND_STORE_DIR: join(person.user.home, 'nowhere') };
    const before = readdirSync(person.user.home);
    for (const args of [['check'], ['check', '--json'], ['backup']])
      expectRefusal(await person.mend(['store', ...args], { env }), 1, /there is no (store in|memory yet)/);
    expect(readdirSync(person.user.home)).toEqual(before);
  });
});

describe('mend store backup', { timeout: 180_000 }, () => {
  test('copies a store that is served, for its owner alone, and into a folder', async () => {
    await person.shell('umask 0; mkdir away; chmod 700 away; echo three > "$M/c.md"');
    const path = await backUp();
    expect(path.startsWith(person.store)).toBe(true);
    expect(statSync(path)).toMatchObject({ uid: person.user.uid });
    for (const target of ['away', 'away/mine']) await person.done('store', 'backup', join(person.user.home, target));
    const away = readdirSync(join(person.user.home, 'away')).map((name) => join(person.user.home, 'away', name));
    expect(away).toHaveLength(2);
    for (const one of [path, ...away]) expect(statSync(one).mode & 0o7777).toBe(0o600);
    expect(
      readdirSync(person.store)
        .filter((name) => /\.\d+$|-wal$|-shm$/.test(name))
        .sort(),
    ).toEqual(['store.db-shm', 'store.db-wal']);
  });

  test('replaces nothing, and goes into no mount, no foreign and no open folder', async () => {
    const home = person.user.home;
    await person.shell(
      'mkdir away; chmod 700 away; echo mine > away/old; ln -s nowhere away/link; mkdir open; chmod 777 open; mkdir closed; chmod 500 closed',
    );
    const seen = (): Promise<string> => person.shell('ls -lAR away open closed; ls "$S"');
    const before = await seen();
    for (const [target, sentence] of [
      ['away/old', /is there already, and a backup replaces nothing: name another file/],
      ['away/link', /is there already/],
      [
        'open/b',
        /others can change what lies in \S+open", and a backup holds all of your memory: name a folder of yours/,
      ],
      ['open', /others can change/],
      ['missing/b', /there is no folder \S+missing": make it first/],
      ['away/old/b', /there is no folder/],
      [`${person.memory}/b`, /lies in a mounted memory folder: name a file outside/],
      [person.memory, /lies in a mounted memory folder/],
    ] as const)
      expectRefusal(
        await person.mend(['store', 'backup', target.startsWith('/') ? target : join(home, target)]),
        1,
        sentence,
      );
    expectRefusal(await person.mend(['store', 'backup', '']), 2, /has no name/);
    if (person.user.uid !== 0)
      expectRefusal(await person.mend(['store', 'backup', join(home, 'closed/b')]), 1, /cannot be written at/);
    expect(await seen()).toBe(before);
    await person.shell('chmod 1777 open');
    await person.done('store', 'backup', join(home, 'open/b'));
    await person.shell('chmod 700 closed');
  });
});

describe('mend store restore', { timeout: 180_000 }, () => {
  test('puts a backup back and keeps what it replaces', async () => {
    const backup = await backUp();
    await person.shell('echo later > "$M/c.md"; echo changed > "$M/a.md"');
    expectRefusal(
      await person.mend(['store', 'restore', backup]),
      1,
      /the store is served, on \S+: run "mend unmount --all" first/,
    );
    const asked = await person.mend(['store', 'restore', backup, '--dry-run']);
    expect(asked.code).toBe(0);
    expect(asked.stdout).toMatch(/^would restore the store from /);
    expect(asked.stderr).toMatch(/^mend: it cannot be done now: the store is served, on [^\n]+\n$/);
    await person.rest();
    const before = person.snapshot();
    const dry = await person.done('store', 'restore', backup, '--dry-run');
    expect(dry).toMatch(/^would restore the store from \S+ \(2 files of 1 project\)\nwould keep the store /);
    expect(person.snapshot()).toEqual(before);
    const text = await person.done('store', 'restore', backup);
    const [, kept = ''] = /\nthe store that was there is kept as (\S+)\n/.exec(text) ?? [];
    expect(text).toMatch(/^restored the store from \S+ \(2 files of 1 project\)\n/);
    expect(text).toMatch(/\nwhat was purged after the backup was made is there again: purge it once more\n$/);
    expect(statSync(kept).mode & 0o7777).toBe(0o600);
    expect(await memory()).toEqual(['a.md', 'b.md']);
    expect(await person.done('memory', 'show', 'a.md')).toBe('one\n');
    await person.done('store', 'check');
    // And back again.
    await person.done('store', 'restore', kept);
    expect(await memory()).toEqual(['a.md', 'b.md', 'c.md']);
    expect(await person.done('memory', 'show', 'a.md')).toBe('changed\n');
    expect(names('.replaced')).toHaveLength(2);
    await person.done('mount');
    expect(await person.shell('cat "$M/c.md"')).toBe('later\n');
  });

  test('makes a store where there is none', async () => {
    const backup = await backUp();
    await person.rest();
    const env = { MEND_STORE_DIR: join(person.user.home, 'new/store') };
    const restored = await person.mend(['store', 'restore', backup], { env });
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).not.toContain('is kept as');
    expect(statSync(join(person.user.home, 'new/store')).mode & 0o7777).toBe(0o700);
    expect((await person.mend(['memory', 'show', 'a.md'], { env })).stdout).toBe('one\n');
  });

  test('settles a store that is damaged, which is kept as it is', async () => {
    const backup = await backUp();
    await person.rest();
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from('Dear diary\n'.repeat(900)),
      readFileSync(file).fill(7, 100, 3000),
    ]) {
      writeFileSync(file, bytes);
      writeFileSync(`${file}-wal`, 'no log', { mode: 0o600 });
      if (isRoot) chownSync(`${file}-wal`, person.user.uid, person.user.gid);
      const old = names('.replaced');
      expectRefusal(await person.mend(['memory']), 1, /the store \S+ is damaged \(/);
      await person.done('store', 'restore', backup);
      expect(await memory()).toEqual(['a.md', 'b.md']);
      const [kept = ''] = names('.replaced').filter((name) => !old.includes(name));
      expect(readFileSync(join(person.store, kept)).equals(bytes)).toBe(true);
      expect(names('-wal').filter((name) => name === 'store.db-wal')).toEqual([]);
    }
    await person.done('store', 'check');
  });

  test('refuses what is no sound backup of this user alone, and changes nothing', async () => {
    const backup = await backUp();
    await person.rest();
    const home = person.user.home;
    await person.shell(
      `cp '${backup}' short; truncate -s 8192 short; cp '${backup}' open; chmod 644 open; echo text > text; : > empty; chmod 600 short text empty
       ln -s nowhere link; mkdir folder; cp '${backup}' bent`,
    );
    const bent = readFileSync(join(home, 'bent'));
    bent.write('0n3\n', bent.indexOf('one\n'));
    writeFileSync(join(home, 'bent'), bent);
    if (isRoot) copyFileSync(backup, join(home, 'foreign'));
    const before = person.snapshot();
    const cases: [string, RegExp][] = [
      ['short', /the backup \S+ is damaged \([^)]+\): name another one/],
      ['bent', /the backup \S+ is damaged \(content \d+ is not what was stored/],
      ['open', /others may read or write \S+: run "chmod 600" on it/],
      ['text', /the backup \S+ is damaged \(it does not begin as a database does\)/],
      ['empty', /is not a mend store: name a backup that "mend store backup" made/],
      ['link', /leads nowhere/],
      ['folder', /is not a regular file/],
      ['missing', /there is no file/],
      [file, /is the store itself: name a backup of it/],
    ];
    if (isRoot) cases.push(['foreign', /belongs to user 0, not to you/]);
    for (const [name, sentence] of cases)
      expectRefusal(await person.mend(['store', 'restore', name === file ? file : join(home, name)]), 1, sentence);
    expectRefusal(await person.mend(['store', 'restore', '']), 2, /has no name/);
    expect(person.snapshot()).toEqual(before);
  });

  test('waits for nobody: a command that has the store open is named', async () => {
    const backup = await backUp();
    await person.rest();
    const script = `
      const db = new (require(process.argv[1]))(process.argv[2]);
      db.prepare('SELECT count(*) FROM node').get();
      process.stdout.write('open');
      setTimeout(() => db.close(), 60000);`;
    const module = join(programFolder(), 'node_modules/better-sqlite3');
    const child = person.user.spawn([process.execPath, '-e', script, module, file]);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    expectRefusal(
      await person.mend(['store', 'restore', backup]),
      1,
      /another process has the store \S+ open: run "mend unmount --all", wait for other commands to end, and try again/,
    );
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    expect(names('.replaced')).toEqual([]);
    await person.done('store', 'restore', backup);
  });

  test('names a mount that a daemon left which died', async () => {
    const backup = await backUp();
    for (const pid of person.processes()) process.kill(pid, 'SIGKILL');
    expectRefusal(
      await person.mend(['store', 'restore', backup]),
      1,
      /is still mounted, though its daemon is gone: run "mend unmount \S+" first/,
    );
    await person.done('unmount', '--all');
    await person.done('store', 'restore', backup);
  });
});

test('purge deletes the copies beside the store that hold the file, and names one that it cannot read', {
  timeout: 180_000,
}, async () => {
  const without = await backUp();
  await person.shell('echo xyzzy-secret > "$M/secret.md"');
  await backUp();
  await person.rest();
  await person.done('store', 'restore', without);
  const [replaced = ''] = names('.replaced');
  await person.done('store', 'restore', join(person.store, replaced));
  await person.shell('rm "$M/secret.md"');
  const held = filesWith(person.store, 'xyzzy-secret');
  expect(held.length).toBeGreaterThanOrEqual(3);
  const text = await person.done('memory', 'purge', 'secret.md', '--confirm', 'secret.md');
  expect(text).toMatch(/\ndeleted store\.db\.\S+\.backup, a backup that held it\n/);
  expect(text).toMatch(/\ndeleted store\.db\.\S+\.replaced, a replaced store that held it\n/);
  expect(filesWith(person.store, 'xyzzy-secret')).toEqual([]);
  expect(names('.backup')).toHaveLength(1);

  await person.shell('echo text > "$S/store.db.20200101T000000Z.replaced"; chmod 600 "$S"/*.replaced');
  const { code, stderr } = await person.mend(['memory', 'purge', 'b.md', '--confirm', 'b.md']);
  expect(code).toBe(3);
  expect(stderr).toContain(
    'store.db.20200101T000000Z.replaced, a damaged copy of the store, cannot be read and may hold it: remove it if it is to go',
  );
});
