import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it, test } from 'vitest';
import { claude } from '../../src/harness/claude.js';
import { purge } from '../../src/store/purge.js';
import { Exchange } from './folder.js';

let x: Exchange;

beforeEach(() => {
  x = new Exchange();
});

const path = (name: string): string => join(x.folder, name);
const nothing = { written: 0, removed: 0, skipped: [] };

describe('writing', () => {
  it('writes heads with their times, in folders for the owner alone', async () => {
    x.save('a.md', 'one');
    x.save('d/e/b.md', 'two');
    expect(x.writeBack()).toEqual({ written: 2, removed: 0, skipped: [] });
    expect([x.below('a.md'), x.below('d/e/b.md')]).toEqual(['one', 'two']);
    expect([x.mode('a.md'), x.mode('d'), x.mode('d/e')]).toEqual([0o600, 0o700, 0o700]);
    const mtime = x.memory.find('a.md')?.row.mtime ?? 0;
    expect(Math.abs(statSync(path('a.md')).mtimeMs * 1000 - mtime)).toBeLessThan(1000);
    expect(x.names()).toEqual(['a.md', 'd', 'd/e', 'd/e/b.md']);
    expect(x.writeBack()).toEqual(nothing);
  });

  it('keeps the mode that a file has', async () => {
    x.lay('a.md', 'one');
    chmodSync(path('a.md'), 0o640);
    await x.takeIn();
    x.save('a.md', 'two');
    expect(x.writeBack().written).toBe(1);
    expect(x.below('a.md')).toBe('two');
    expect(x.mode('a.md')).toBe(0o640);
  });

  it('does not touch what is there already', async () => {
    x.lay('a.md', 'one', { age: 5000 });
    await x.takeIn();
    const before = statSync(path('a.md'));
    expect(x.writeBack()).toEqual(nothing);
    expect(statSync(path('a.md'))).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
  });

  it('makes the folder anew when it is gone', async () => {
    x.save('a.md', 'one');
    x.folder = path('gone/memory');
    expect(x.writeBack().written).toBe(1);
    expect(x.below('a.md')).toBe('one');
  });

  it('replaces a file as a whole: who has it open keeps the old one, and no name is ever half written', async () => {
    x.lay('a.md', 'old');
    await x.takeIn();
    x.save('a.md', 'new'.repeat(50_000));
    const events: string[] = [];
    const watcher = watch(x.folder, (event, name) => events.push(`${event} ${name}`));
    await delay(20);
    const before = statSync(path('a.md')).ino;
    x.writeBack();
    await delay(50);
    watcher.close();
    expect(statSync(path('a.md')).ino).not.toBe(before);
    expect(events).not.toContain('change a.md');
    expect(events).toContain('rename a.md');
    expect(x.names()).toEqual(['a.md']);
  });

  it('writes files whose names are as long as names can be, through a temporary that is never taken in', async () => {
    const names = [`${'n'.repeat(252)}.md`, `d/${'é'.repeat(126)}.md`];
    for (const name of names) x.save(name, 'text');
    const events: string[] = [];
    const watcher = watch(x.folder, (_, name) => events.push(name ?? ''));
    await delay(20);
    expect(x.writeBack()).toEqual({ written: 2, removed: 0, skipped: [] });
    await delay(50);
    watcher.close();
    for (const name of names) expect(x.below(name)).toBe('text');
    const temporaries = events.filter((name) => name !== 'd' && !names.includes(name));
    expect(temporaries).not.toEqual([]);
    for (const name of temporaries) expect(claude.isLocal(name), name).toBe(true);
    expect(x.names()).toEqual([names[1]?.slice(0, 1), names[1], names[0]]);
  });

  it('leaves local files of the folder alone', async () => {
    x.lay('.a.md.swp', 'swap');
    x.lay('note.md~', 'backup');
    await x.takeIn();
    x.save('a.md', 'one');
    x.writeBack();
    expect(x.names()).toEqual(['.a.md.swp', 'a.md', 'note.md~']);
  });

  it('is settled: the next time nothing is taken in', async () => {
    x.save('a.md', 'one');
    x.writeBack();
    expect(await x.takeIn()).toEqual({ 'a.md': 'same' });
    x.lay('a.md', 'changed without mend', { age: 86_400 });
    expect(await x.takeIn()).toEqual({ 'a.md': 'updated' });
  });
});

describe('removing', () => {
  it('removes what was removed from memory', async () => {
    x.lay('a.md', 'one');
    x.lay('d/b.md', 'two');
    await x.takeIn();
    x.remove('a.md');
    x.remove('d/b.md');
    expect(x.writeBack()).toEqual({ written: 0, removed: 2, skipped: [] });
    expect(x.names()).toEqual(['d']);
    expect(await x.takeIn()).toEqual({});
    expect(x.writeBack()).toEqual(nothing);
  });

  it('removes what was purged, and replaces what a purged version left', async () => {
    x.lay('a.md', 'one');
    x.lay('b.md', 'one of b');
    await x.takeIn();
    x.save('b.md', 'two of b');
    purge(x.store, { tree: x.tree, path: 'a.md' }, () => false);
    purge(x.store, { tree: x.tree, path: 'b.md', version: 1 }, () => false);
    expect(x.writeBack()).toEqual({ written: 1, removed: 1, skipped: [] });
    expect(x.names()).toEqual(['b.md']);
    expect(x.below('b.md')).toBe('two of b');
  });

  it('keeps what was purged and changed meanwhile', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    purge(x.store, { tree: x.tree, path: 'a.md' }, () => false);
    x.lay('a.md', 'two');
    expect(x.writeBack()).toEqual({ written: 0, removed: 0, skipped: [] });
    expect(x.below('a.md')).toBe('two');
  });

  it('keeps what something else changed meanwhile, which the next time is added again', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    x.remove('a.md');
    x.lay('a.md', 'two');
    expect(x.writeBack()).toEqual(nothing);
    expect(x.below('a.md')).toBe('two');
    expect(await x.takeIn()).toEqual({ 'a.md': 'added' });
  });

  it('keeps what was never exchanged', async () => {
    x.lay('large.md', Buffer.alloc(2_000_000));
    await x.takeIn();
    expect(x.writeBack()).toEqual(nothing);
    expect(x.names()).toEqual(['large.md']);
  });

  it('has nothing to do where the file or its folder is gone', async () => {
    x.lay('d/a.md', 'one');
    x.lay('b.md', 'two');
    await x.takeIn();
    for (const name of ['d/a.md', 'b.md']) x.remove(name);
    rmSync(path('d'), { recursive: true });
    rmSync(path('b.md'));
    expect(x.writeBack()).toEqual(nothing);
    expect(x.store.bases.of(x.store.machine, x.folder, x.tree.id).size).toBe(0);
  });
});

describe('what something else did below meanwhile is not written over', () => {
  const changed = 'was changed on this machine meanwhile; the next mount takes it in';

  it('a change', async () => {
    x.lay('a.md', 'one', { age: 5000 });
    await x.takeIn();
    x.save('a.md', 'in memory');
    x.lay('a.md', 'below', { age: 86_400 });
    expect(x.writeBack()).toEqual({ written: 0, removed: 0, skipped: [{ path: 'a.md', reason: changed }] });
    expect(x.below('a.md')).toBe('below');
    expect(await x.takeIn()).toEqual({ 'a.md': 'merged' });
    expect(x.writeBack().written).toBe(1);
    expect(x.below('a.md')).toBe('in memory\nbelow');
  });

  it('a change that could not be merged is replaced: the store has it as a version', async () => {
    x.lay('a.md', 'one');
    await x.takeIn();
    x.save('a.md', 'in memory\0');
    x.lay('a.md', 'below\0');
    expect(await x.takeIn()).toEqual({ 'a.md': 'conflict' });
    expect(x.history('a.md')).toContain('conflict: below\0');
    expect(x.writeBack()).toEqual({ written: 1, removed: 0, skipped: [] });
    expect(x.below('a.md')).toBe('in memory\0');
    expect(await x.takeIn()).toEqual({ 'a.md': 'same' });
    x.lay('a.md', 'below again\0');
    expect(await x.takeIn()).toEqual({ 'a.md': 'updated' });
  });

  it('a file that could not be taken in', async () => {
    x.lay('MEMORY.md', Buffer.alloc(1_100_000, 'x'));
    expect(await x.takeIn()).toEqual({ 'MEMORY.md': 'skipped: is larger than 1048576 bytes' });
    x.save('MEMORY.md', 'a new one');
    expect(x.writeBack().skipped).toEqual([{ path: 'MEMORY.md', reason: changed }]);
    expect(statSync(path('MEMORY.md')).size).toBe(1_100_000);
  });

  it('a link or a folder in place of a file', async () => {
    const target = join(new Exchange().folder, 'target.md');
    writeFileSync(target, 'elsewhere');
    symlinkSync(target, path('a.md'));
    mkdirSync(path('b.md'));
    for (const name of ['a.md', 'b.md']) x.save(name, 'in memory');
    const reason = 'is not a regular file on this machine';
    expect(x.writeBack().skipped).toEqual([
      { path: 'a.md', reason },
      { path: 'b.md', reason },
    ]);
    expect(lstatSync(path('a.md')).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, 'utf8')).toBe('elsewhere');
  });
});

describe('a sub-folder that became a link is not followed', () => {
  let outside: string;

  beforeEach(async () => {
    x.lay('sub/a.md', 'one');
    x.lay('sub/deep/b.md', 'two');
    await x.takeIn();
    outside = join(new Exchange().folder, 'moved');
    renameSync(path('sub'), outside);
    symlinkSync(outside, path('sub'));
  });

  it('to write', async () => {
    x.save('sub/a.md', 'changed');
    x.save('sub/new/c.md', 'new');
    const reason = 'lies in a folder that is a link or a file on this machine';
    expect(x.writeBack()).toEqual({
      ...{ written: 0, removed: 0 },
      skipped: ['sub/a.md', 'sub/deep/b.md', 'sub/new/c.md'].map((name) => ({ path: name, reason })),
    });
    expect(readFileSync(join(outside, 'a.md'), 'utf8')).toBe('one');
    expect(existsSync(join(outside, 'new'))).toBe(false);
  });

  it('to remove', async () => {
    x.remove('sub/a.md');
    x.remove('sub/deep/b.md');
    expect(x.writeBack().removed).toBe(0);
    expect(readdirSync(outside).sort()).toEqual(['a.md', 'deep']);
    expect(readdirSync(join(outside, 'deep'))).toEqual(['b.md']);
  });
});

test('a folder that is itself a link is not followed', async () => {
  const real = x.folder;
  x.folder = join(new Exchange().folder, 'link');
  symlinkSync(real, x.folder);
  x.save('a.md', 'one');
  expect(x.writeBack()).toMatchObject({ written: 0, skipped: [{ path: 'a.md' }] });
  expect(readdirSync(real)).toEqual([]);
});

test('a folder above that is a link is the way to it, and is fine', async () => {
  const above = new Exchange().folder;
  symlinkSync(x.folder, join(above, 'home'));
  mkdirSync(path('memory'));
  x.folder = join(above, 'home/memory');
  x.save('d/a.md', 'one');
  expect(x.writeBack().written).toBe(1);
  expect(x.below('d/a.md')).toBe('one');
});

test('a whole turn loses nothing: out, changed on both sides, and in again', async () => {
  for (const name of ['both.md', 'folder.md', 'memory.md', 'removed.md']) x.save(name, 'start');
  x.writeBack();
  x.lay('both.md', 'folder', { age: -60 });
  x.lay('folder.md', 'folder');
  x.lay('new.md', 'folder');
  x.save('both.md', 'memory');
  x.save('memory.md', 'memory');
  x.remove('removed.md');
  expect(await x.takeIn()).toEqual({
    ...{
      'both.md': 'merged',
      'folder.md': 'updated',
      'memory.md': 'kept',
      'new.md': 'added',
      'removed.md': 'not added',
    },
  });
  expect(x.writeBack()).toEqual({ written: 2, removed: 1, skipped: [] });
  expect(x.names().map((name) => `${name} ${x.below(name)}`)).toEqual([
    ...['both.md memory\nfolder', 'folder.md folder', 'memory.md memory', 'new.md folder'],
  ]);
  expect(x.history('both.md').slice(0, 2)).toEqual(['merged: memory\nfolder', 'saved: memory']);
});
