import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, inject, it, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/ports/limits.js';
import { purge } from '../../src/store/purge.js';
import { programFolder } from '../support/program.js';
import { isRoot, throwAwayUser } from '../support/users.js';
import { Exchange } from './folder.js';

let x: Exchange;

beforeEach(() => {
  x = new Exchange();
});

describe('outcomes', () => {
  it('added: the store does not have it; the file keeps its time', async () => {
    x.lay('a.md', 'one', { age: 86_400 });
    x.lay('d/e/b.md', 'two');
    expect(await x.takeIn()).toEqual({ 'a.md': 'added', 'd/e/b.md': 'added' });
    expect([x.head('a.md'), x.head('d/e/b.md')]).toEqual(['one', 'two']);
    expect(x.history('a.md')).toEqual(['imported: one']);
    const age = Date.now() * 1000 - (x.memory.find('a.md')?.row.mtime ?? 0);
    expect(age / 1e6).toBeGreaterThan(86_390);
    expect(age / 1e6).toBeLessThan(86_500);
  });

  it.runIf(existsSync('/dev/shm'))(
    'added: a time that is farther away than can be kept is the farthest there is',
    async () => {
      // Few file systems have such times; this one does.
      x.folder = mkdtempSync('/dev/shm/mend-test-');
      try {
        x.lay('a.md', 'one');
        execFileSync('touch', ['-d', '@10000000000000', join(x.folder, 'a.md')]);
        expect(await x.takeIn()).toEqual({ 'a.md': 'added' });
        expect(x.memory.find('a.md')?.row.mtime).toBe(2 ** 56);
      } finally {
        rmSync(x.folder, { recursive: true });
      }
    },
  );

  it('same: twice changes nothing the second time', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    const before = x.store.feed.last();
    expect(await x.takeIn()).toEqual({ 'a.md': 'same' });
    expect(x.store.feed.last()).toBe(before);
    expect(x.history('a.md')).toHaveLength(1);
  });

  it('same: the store has the same bytes from elsewhere', async () => {
    x.save('a.md', 'one');
    x.lay('a.md', 'one');
    expect(await x.takeIn()).toEqual({ 'a.md': 'same' });
    x.save('a.md', 'two');
    expect(await x.takeIn()).toEqual({ 'a.md': 'kept' });
  });

  it('updated: only the folder changed since, whichever is newer', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    const before = x.memory.find('a.md')?.row;
    x.lay('a.md', 'two', { age: 86_400 });
    expect(await x.takeIn()).toEqual({ 'a.md': 'updated' });
    expect(x.head('a.md')).toBe('two');
    expect(x.history('a.md')).toEqual(['imported: two', 'imported: one']);
    expect(x.memory.find('a.md')?.row.id).toBe(before?.id);
    expect(x.memory.find('a.md')?.row.mtime).toBeGreaterThan(before?.mtime ?? 0);
  });

  it('kept: only the store changed since', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    x.save('a.md', 'two');
    expect(await x.takeIn()).toEqual({ 'a.md': 'kept' });
    expect(x.head('a.md')).toBe('two');
  });

  it('not added: removed from the store, unchanged in the folder', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    x.remove('a.md');
    expect(await x.takeIn()).toEqual({ 'a.md': 'not added' });
    expect(x.head('a.md')).toBe(undefined);
  });

  it('not added: purged, unchanged in the folder; nothing of it is stored', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    purge(x.store, { tree: x.tree, path: 'a.md' }, () => false);
    expect(await x.takeIn()).toEqual({ 'a.md': 'not added' });
    expect(x.head('a.md')).toBe(undefined);
    expect(x.store.db.prepare('SELECT count(*) FROM content').pluck().get()).toBe(0);
    x.lay('a.md', 'changed');
    expect(await x.takeIn()).toEqual({ 'a.md': 'added' });
    expect(x.history('a.md')).toEqual(['imported: changed']);
  });

  it('kept: the folder has what was purged, and the store something newer', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    x.save('a.md', 'two');
    purge(x.store, { tree: x.tree, path: 'a.md', version: 1 }, () => false);
    expect(await x.takeIn()).toEqual({ 'a.md': 'kept' });
    expect(x.history('a.md')).toEqual(['saved: two']);
    expect(x.store.db.prepare('SELECT count(*) FROM content').pluck().get()).toBe(1);
  });

  it('added: removed from the store, but changed in the folder since', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    x.remove('a.md');
    x.lay('a.md', 'two');
    expect(await x.takeIn()).toEqual({ 'a.md': 'added' });
    expect(x.head('a.md')).toBe('two');
  });

  it('a file that the folder no longer has stays', async () => {
    x.save('a.md', 'store');
    expect(await x.takeIn()).toEqual({});
    expect(x.head('a.md')).toBe('store');
  });

  it('folders are measured each by itself', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    x.save('a.md', 'two');
    x.folder = new Exchange().folder;
    x.lay('a.md', 'one', { age: 86_400 });
    expect(await x.takeIn()).toEqual({ 'a.md': 'merged' });
  });
});

describe('what is skipped, with its reason', () => {
  it('links, pipes and sockets; links are never followed', async () => {
    const outside = new Exchange();
    outside.lay('secret.md', 'outside');
    symlinkSync(join(outside.folder, 'secret.md'), join(x.folder, 'link.md'));
    symlinkSync(outside.folder, join(x.folder, 'folder'));
    symlinkSync('nowhere', join(x.folder, 'dangling'));
    execFileSync('mkfifo', [join(x.folder, 'pipe')]);
    const server = createServer().listen(join(x.folder, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    expect(await x.takeIn()).toEqual({
      ...{
        'link.md': 'skipped: is a symbolic link',
        folder: 'skipped: is a symbolic link',
        dangling: 'skipped: is a symbolic link',
      },
      ...{ pipe: 'skipped: is not a regular file', socket: 'skipped: is not a regular file' },
    });
    expect(x.memory.list()).toEqual([]);
    server.close();
  });

  it('files that are too large, names that are not UTF-8, and what lies too deep', async () => {
    x.lay('large.md', Buffer.alloc(DEFAULT_LIMITS.fileBytes + 1));
    x.lay('limit.md', Buffer.alloc(DEFAULT_LIMITS.fileBytes));
    writeFileSync(Buffer.concat([Buffer.from(`${x.folder}/bad-`), Buffer.from([0xff, 0xfe])]), 'x');
    const level = (count: number): string => Array.from({ length: count }, (_, i) => `${i}`).join('/');
    x.lay(`${level(15)}/fits.md`, 'x');
    x.lay(`${level(16)}/deep.md`, 'x');
    expect(await x.takeIn()).toEqual({
      ...{ 'large.md': 'skipped: is larger than 1048576 bytes', 'limit.md': 'added' },
      ...{ 'bad-\ufffd\ufffd': 'skipped: has a name that is not valid UTF-8' },
      ...{ [`${level(15)}/fits.md`]: 'added', [`${level(16)}/deep.md`]: 'skipped: lies too deep' },
    });
  });

  it('what is a folder on one side and a file on the other', async () => {
    x.save('a', 'file in memory');
    x.save('b/c.md', 'in a folder in memory');
    x.lay('a/below.md', 'x');
    x.lay('b', 'a file below');
    x.lay('fine.md', 'x');
    expect(await x.takeIn()).toEqual({
      ...{ 'a/below.md': 'skipped: lies in a folder that is a file in memory', b: 'skipped: is a folder in memory' },
      'fine.md': 'added',
    });
  });

  it('what is over a limit of the project, and only that', async () => {
    const limits = { files: 3, bytes: 100, fileBytes: 60 };
    for (const name of ['1.md', '2.md']) x.lay(name, 'x'.repeat(40));
    x.lay('3.md', 'x'.repeat(30));
    x.lay('4.md', 'x'.repeat(10));
    x.lay('5.md', '');
    expect(await x.takeIn(limits)).toEqual({
      ...{ '1.md': 'added', '2.md': 'added', '3.md': 'skipped: is over the limit of 100 bytes', '4.md': 'added' },
      '5.md': 'skipped: is over the limit of 3 files',
    });
    x.lay('1.md', 'y'.repeat(55));
    x.lay('2.md', 'y'.repeat(20));
    expect(await x.takeIn(limits)).toMatchObject({
      '1.md': 'skipped: is over the limit of 100 bytes',
      '2.md': 'updated',
    });
    expect(x.head('1.md')).toBe('x'.repeat(40));
  });

  it('a folder that is not there', async () => {
    x.folder = join(x.folder, 'none');
    expect(await x.takeIn()).toEqual({ '.': 'skipped: cannot be read (ENOENT)' });
  });

  it.runIf(isRoot)('what an ordinary user may not read', async () => {
    const user = throwAwayUser();
    const folder = join(user.home, 'memory');
    const from = (file: string): string => JSON.stringify(pathToFileURL(join(programFolder(), 'dist', file)).href);
    const script = join(inject('runFolder'), 'take-in.mjs');
    writeFileSync(
      script,
      `import { mkdirSync, writeFileSync, chmodSync } from 'node:fs';
       import { takeIn } from ${from('import/take-in.js')};
       import { claude } from ${from('harness/claude.js')};
       import { Store } from ${from('store/store.js')};
       const folder = ${JSON.stringify(folder)};
       mkdirSync(folder + '/closed', { recursive: true });
       for (const name of ['a.md', 'b.md', 'closed/c.md']) writeFileSync(folder + '/' + name, 'x');
       chmodSync(folder + '/a.md', 0); chmodSync(folder + '/closed', 0);
       const store = new Store(folder + '-store', { create: true, owner: 'o', machine: () => ({ machineId: 'm', name: 'h' }) });
       const tree = store.write(() => store.trees.create(store.projects.create(['p'], 1).id, 'claude', () => store.newId(), 1));
       console.log(JSON.stringify(await takeIn(store, tree, folder, claude)));`,
    );
    chmodSync(script, 0o644);
    const { stdout, stderr } = await user.run([process.execPath, script]);
    await user.remove();
    expect(stderr).toBe('');
    const reason = 'cannot be read (EACCES)';
    expect(JSON.parse(stdout)).toEqual([
      { path: 'a.md', outcome: 'skipped', linesLost: 0, reason },
      { path: 'b.md', outcome: 'added', linesLost: 0, reason: null },
      { path: 'closed', outcome: 'skipped', linesLost: 0, reason },
    ]);
  });
});

test('what programs leave behind is neither taken in nor named', async () => {
  for (const name of ['a.md~', '.a.md.swp', '.DS_Store', 'a.md.tmp.12.ab', 'x.lock/inside.md']) x.lay(name, 'x');
  mkdirSync(join(x.folder, 'empty'));
  x.lay('a.md', 'x');
  expect(await x.takeIn()).toEqual({ 'a.md': 'added' });
  expect(x.memory.list().map((file) => file.path)).toEqual(['a.md']);
});

test('a store that fails is not taken for a file that cannot be read', async () => {
  x.lay('a.md', 'one');
  x.store.db.pragma('query_only = ON');
  await expect(x.takeIn()).rejects.toThrow(expect.objectContaining({ code: 'SQLITE_READONLY' }));
  x.store.db.pragma('query_only = OFF');
  expect(await x.takeIn()).toEqual({ 'a.md': 'added' });
});

test('bytes come as they are', async () => {
  const odd = { 'crlf.md': '\ufeffa\r\nb', 'empty.md': '', 'nul.bin': 'a\0b', 'ü\n.md': 'x', ' ': 'blank' };
  for (const [name, text] of Object.entries(odd)) x.lay(name, text);
  await x.takeIn();
  for (const [name, text] of Object.entries(odd)) expect(x.head(name), JSON.stringify(name)).toBe(text);
});
