import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { importFolder } from '../../src/import/import-folder.js';
import type { ImportedFile } from '../../src/import/import-options.js';
import { DEFAULT_LIMITS } from '../../src/ports/limits.js';
import { namedMachine } from '../../src/store/machines.js';
import { purge } from '../../src/store/purge.js';
import { Exchange } from './folder.js';

let x: Exchange;

beforeEach(() => {
  x = new Exchange();
});

/** Imports the folder as a copy from a machine of a name. */
function importFrom(host: string): Promise<ImportedFile[]> {
  return importFolder(x.store, x.tree, x.folder, {
    source: { machine: x.store.write(() => namedMachine(x.store.db, host)), host, folder: '' },
    isLocal: () => false,
    maintained: ['metadata.modified'],
    limits: DEFAULT_LIMITS,
  });
}

const outcomes = (files: readonly ImportedFile[]) => files.map(({ path, outcome }) => `${outcome} ${path}`);

describe('what was imported last is the base of the next import', () => {
  it('a line that the machine adds after a merge does not take the lines away that others added', async () => {
    x.save('a.md', 'start\nfrom the store\n');
    x.lay('a.md', 'start\nfrom the folder\n');
    expect(await x.takeIn()).toEqual({ 'a.md': 'merged' });
    x.lay('a.md', 'start\nfrom the folder\nand another\n');
    expect(await x.takeIn()).toEqual({ 'a.md': 'merged' });
    const lines = x.head('a.md')?.split('\n');
    expect(lines).toEqual(expect.arrayContaining(['from the store', 'from the folder', 'and another']));
  });

  it('a line that the store removed stays removed; the machine, which still has it, is told how many are missing', async () => {
    x.lay('a.md', 'one\ntwo\nthree\n');
    await x.takeIn();
    x.save('a.md', 'one\nthree\n');
    x.lay('a.md', 'one\ntwo\nthree\nfour\n');
    const [file] = await importFrom('laptop');
    expect(file).toMatchObject({ outcome: 'merged', linesLost: 0 });
    x.save('a.md', 'one\nthree\nfour\n');
    x.lay('a.md', 'one\ntwo\nthree\nfour\nfive\n');
    const [again] = await importFrom('laptop');
    expect(again).toEqual({ path: 'a.md', outcome: 'merged', linesLost: 1, reason: null });
    expect(x.head('a.md')).toBe('one\nthree\nfour\nfive\n');
    expect(x.history('a.md').slice(0, 2)).toEqual([
      'merged: one\nthree\nfour\nfive\n',
      'imported: one\ntwo\nthree\nfour\nfive\n',
    ]);
  });

  it('each machine has its own, wherever its copy lies', async () => {
    x.lay('a.md', 'one\n');
    expect(outcomes(await importFrom('laptop'))).toEqual(['added a.md']);
    x.save('a.md', 'one\ntwo\n');
    expect(outcomes(await importFrom('laptop'))).toEqual(['kept a.md']);
    const { folder } = new Exchange();
    x.folder = folder;
    x.lay('a.md', 'one\n');
    expect(outcomes(await importFrom('laptop'))).toEqual(['kept a.md']);
    expect(outcomes(await importFrom('desktop'))).toEqual(['merged a.md']);
    expect(x.head('a.md')).toBe('one\ntwo\n');
  });

  it('versions name the machine that they came from', async () => {
    x.lay('a.md', 'one\n');
    await importFrom('laptop');
    expect(x.store.versions.of(x.tree.id, 'a.md')[0]).toMatchObject({ kind: 'imported', machine: 'laptop' });
    x.save('a.md', 'one\nhere\n');
    x.lay('a.md', 'there\none\n');
    await importFrom('laptop');
    expect(x.store.versions.of(x.tree.id, 'a.md')[0]).toMatchObject({ kind: 'merged', machine: 'laptop' });
  });

  it('a value of the frontmatter that did not win is kept as a comment that names the machine and the day', async () => {
    x.save('a.md', '---\nname: here\n---\ntext\n');
    x.lay('a.md', '---\nname: there\n---\ntext\n', { age: 86_400 });
    const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    expect(await importFrom('laptop')).toMatchObject([{ outcome: 'merged', linesLost: 0 }]);
    expect(x.head('a.md')).toBe(`---\nname: here\n# from laptop, ${day}: name: there\n---\ntext\n`);
    expect(outcomes(await importFrom('laptop'))).toEqual(['kept a.md']);
  });

  it('of a key that the agent maintains the newer value is taken', async () => {
    const note = (modified: number) => `---\nmetadata:\n  modified: ${modified}\n---\ntext\n`;
    x.save('newer.md', note(1));
    x.save('older.md', note(1));
    x.lay('newer.md', note(2), { age: -60 });
    x.lay('older.md', note(2), { age: 86_400 });
    await importFrom('laptop');
    expect([x.head('newer.md'), x.head('older.md')]).toEqual([note(2), note(1)]);
  });
});

describe('a conflict', () => {
  beforeEach(async () => {
    x.save('a.bin', 'store\0');
    x.lay('a.bin', 'folder\0');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'conflict' });
  });

  it('is named again, with one version, until somebody settles it', async () => {
    expect(await x.takeIn()).toEqual({ 'a.bin': 'conflict' });
    expect(x.history('a.bin')).toEqual(['conflict: folder\0', 'saved: store\0']);
    x.save('a.bin', 'an agent saves, and knows nothing of it\0');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'conflict' });
    expect(await x.takeIn()).toEqual({ 'a.bin': 'conflict' });
    expect(x.history('a.bin').filter((version) => version.startsWith('conflict'))).toHaveLength(1);
    x.choose('a.bin');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'kept' });
    expect(await x.takeIn()).toEqual({ 'a.bin': 'kept' });
  });

  it('takes no line away from the machine while it waits', async () => {
    const many = (word: string) => Array.from({ length: 20 }, (_, i) => `${word} has line ${i} of its own\n`).join('');
    x.save('a.md', many('store'));
    x.lay('a.md', many('folder'));
    expect(await x.takeIn()).toMatchObject({ 'a.md': 'conflict' });
    x.save('a.md', `${many('store')}and another\n`);
    x.lay('a.md', `${many('folder')}and one more\n`);
    expect(await x.takeIn()).toMatchObject({ 'a.md': 'conflict' });
    x.save('a.md', `${many('store')}${many('folder')}`);
    expect(await x.takeIn()).toMatchObject({ 'a.md': 'merged' });
    expect(x.head('a.md')).toContain('and one more\n');
  });

  it('is tried again: what was over a limit is merged when there is room', async () => {
    x.save('a.md', 'shared\nstore\n');
    x.lay('a.md', 'shared\nfolder\n');
    const tight = { ...DEFAULT_LIMITS, fileBytes: 15 };
    expect(await x.takeIn(tight)).toMatchObject({ 'a.md': 'conflict' });
    expect(await x.takeIn(tight)).toMatchObject({ 'a.md': 'conflict' });
    expect(await x.takeIn()).toMatchObject({ 'a.md': 'merged' });
  });

  it('is kept again when its version was dropped, so that no unmount destroys the only copy', async () => {
    for (let i = 0; i < 25; i++) x.save('a.bin', `save ${i}\0`);
    expect(x.history('a.bin')).not.toContain('conflict: folder\0');
    expect(x.writeBack().skipped).toMatchObject([{ path: 'a.bin' }]);
    expect(x.below('a.bin')).toBe('folder\0');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'conflict' });
    expect(x.history('a.bin')[0]).toBe('conflict: folder\0');
    expect(x.writeBack().written).toBe(1);
  });

  it.each([undefined, 1])('is settled by a purge (of version %s), and nothing of it comes back', async (version) => {
    const purged = (): unknown =>
      x.store.db.prepare(`SELECT 1 FROM content WHERE bytes = CAST(? AS BLOB)`).get('folder\0');
    const number = version && x.store.versions.of(x.tree.id, 'a.bin').find(({ kind }) => kind === 'conflict')?.number;
    purge(x.store, { tree: x.tree, path: 'a.bin', version: number }, () => false);
    if (version) x.save('a.bin', 'changed since\0');
    expect(await x.takeIn()).toEqual({ 'a.bin': version ? 'kept' : 'not added' });
    expect(await x.takeIn()).toEqual({ 'a.bin': version ? 'kept' : 'not added' });
    expect(purged()).toBe(undefined);
    expect(x.writeBack()).toMatchObject(version ? { written: 1, removed: 0 } : { written: 0, removed: 1 });
    expect(await x.takeIn()).toEqual(version ? { 'a.bin': 'same' } : {});
    expect(purged()).toBe(undefined);
  });

  it('does not outlive the file: the same content is news later', async () => {
    x.remove('a.bin');
    expect(x.writeBack()).toMatchObject({ removed: 1, skipped: [] });
    x.lay('a.bin', 'folder\0');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'added' });
  });

  it('is settled by taking what the machine sent', async () => {
    x.save('a.bin', 'folder\0');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'same' });
    x.lay('a.bin', 'folder, changed\0');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'updated' });
  });

  it('is settled by removing the file', async () => {
    x.remove('a.bin');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'not added' });
    x.lay('a.bin', 'folder, changed\0');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'added' });
  });

  it('is settled by choosing what the store has', async () => {
    x.choose('a.bin');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'kept' });
    x.lay('a.bin', 'folder, changed\0');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'conflict' });
  });

  it('is a new one when the machine changes again', async () => {
    x.lay('a.bin', 'folder, changed\0');
    expect(await x.takeIn()).toEqual({ 'a.bin': 'conflict' });
    expect(x.history('a.bin').slice(0, 2)).toEqual(['conflict: folder, changed\0', 'conflict: folder\0']);
  });
});

describe('what cannot be merged is a conflict, and says why', () => {
  const many = (word: string) => Array.from({ length: 40 }, (_, i) => `${word} has ${i} words of its own\n`).join('');
  it.each([
    ['too different', 'a.md', many('store'), many('folder'), 'the two have too little in common to be one file'],
    ['not text', 'a.md', 'store\n', 'caf\xe9\n', 'one of the two is not text'],
    ['not parsing', 'a.json', '{"a": 1}', '{"b": 2}', 'the result would no longer parse'],
    ['odd frontmatter', 'a.md', '---\na: |\n  x\n---\n', '---\na: |\n  y\n---\n', 'not plain keys and lists'],
  ])('%s', async (_, path, store, folder, reason) => {
    x.save(path, store);
    x.lay(path, Buffer.from(folder, 'latin1'));
    const [file] = await importFrom('laptop');
    expect(file).toMatchObject({ outcome: 'conflict', reason: expect.stringContaining(reason) });
    expect(x.head(path)).toBe(store);
  });

  it('over the limit of one file', async () => {
    const part = (word: string) => Array.from({ length: 6000 }, (_, i) => `${word} ${i} ${'x'.repeat(90)}\n`).join('');
    x.save('a.md', `${part('same').slice(0, 200_000)}\n${part('store')}`);
    x.lay('a.md', `${part('same').slice(0, 200_000)}\n${part('folder')}`);
    const [file] = await importFrom('laptop');
    expect(file).toMatchObject({ outcome: 'conflict', reason: 'cannot be merged: the result would be over the limit' });
  });
});

describe('names', () => {
  const nfc = 'caf\u00e9.md';
  const nfd = 'cafe\u0301.md';

  it('a note of a Mac and the same of Linux are one file', async () => {
    x.save(nfc, 'one\n');
    x.lay(nfd, 'one\ntwo\n');
    expect(await importFrom('mac')).toMatchObject([{ path: nfd, outcome: 'merged' }]);
    expect(x.memory.list().map(({ path }) => path)).toEqual([nfc]);
    expect(x.head(nfc)).toBe('one\ntwo\n');
    x.lay(nfd, 'one\ntwo\nthree\n');
    expect(await importFrom('mac')).toMatchObject([{ outcome: 'updated' }]);
    x.remove(nfc);
    expect(await importFrom('mac')).toMatchObject([{ outcome: 'not added' }]);
  });

  it('so are notes in a folder whose name differs in form', async () => {
    x.save('caf\u00e9/a.md', 'one\n');
    x.lay('cafe\u0301/a.md', 'one\n');
    x.lay('cafe\u0301/b.md', 'two\n');
    expect(outcomes(await importFrom('mac'))).toEqual(['same cafe\u0301/a.md', 'added cafe\u0301/b.md']);
    expect(x.memory.list().map(({ path }) => path)).toEqual(['caf\u00e9/a.md', 'caf\u00e9/b.md']);
  });

  it('both forms beside each other in one folder are two files', async () => {
    x.lay(nfc, 'composed\n');
    x.lay(nfd, 'decomposed\n');
    expect(outcomes(await importFrom('linux'))).toEqual([`added ${nfd}`, `added ${nfc}`]);
    expect([x.head(nfc), x.head(nfd)]).toEqual(['composed\n', 'decomposed\n']);
    expect(outcomes(await importFrom('linux'))).toEqual([`same ${nfd}`, `same ${nfc}`]);
  });

  it('two names of the machine never meet in one file', async () => {
    // Three forms of one name: only one of them can be the file that memory has.
    const forms = ['\u1e69.md', 's\u0323\u0307.md', 's\u0307\u0323.md'] as const;
    x.save(forms[0], 'store\n');
    x.lay(forms[1], 'second\n');
    x.lay(forms[2], 'third\n');
    await importFrom('linux');
    const texts = x.memory.list().map(({ path }) => x.head(path));
    expect(texts.sort()).toEqual(['second\n', 'store\nthird\n']);
  });

  it('what was taken in under another form is replaced in the folder, not put beside it', async () => {
    x.save(nfc, 'one\n');
    x.lay(nfd, 'one\ntwo\n');
    await x.takeIn();
    expect(x.writeBack()).toEqual({ written: 1, removed: 1, skipped: [] });
    expect(x.names()).toEqual([nfc]);
    expect(await x.takeIn()).toEqual({ [nfc]: 'same' });
  });

  it('a conflict of two forms leaves one file in the folder', async () => {
    x.save(nfc, 'store\0');
    x.lay(nfd, 'folder\0');
    expect(await x.takeIn()).toEqual({ [nfd]: 'conflict' });
    expect(x.writeBack()).toEqual({ written: 1, removed: 1, skipped: [] });
    expect(x.names()).toEqual([nfc]);
    expect(await x.takeIn()).toEqual({ [nfc]: 'same' });
  });

  it('a file and a folder are never one for their form', async () => {
    x.save('caf\u00e9/a.md', 'one\n');
    x.lay('cafe\u0301', 'a file\n');
    expect(outcomes(await importFrom('mac'))).toEqual(['added cafe\u0301']);
  });

  it('odd ones are names like any other', async () => {
    const names = [
      'with space.md',
      '"quoted".md',
      "it's.md",
      '\u{1f331}.md',
      '-rf',
      'a\nb.md',
      '*.md',
      'x'.repeat(255),
    ];
    for (const name of names) x.lay(name, `${name}\n`);
    const files = await importFrom('laptop');
    expect(files.map(({ outcome }) => outcome)).toEqual(names.map(() => 'added'));
    for (const name of names) expect(x.head(name)).toBe(`${name}\n`);
  });
});

describe('folders as they are', () => {
  it('takes in what is memory, byte for byte, and names the rest', async () => {
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('text\r\n', 'utf16le')]);
    const kept: Record<string, Buffer> = {
      'bom.md': Buffer.from('\ufefftext\r\n'),
      'exact.md': Buffer.alloc(DEFAULT_LIMITS.fileBytes, 'x'),
      'picture.png': Buffer.from([0x89, 0x50, 0, 1]),
      'sub/deeper/note.md': Buffer.from('no newline'),
      'utf16.md': utf16,
    };
    for (const [name, bytes] of Object.entries(kept)) x.lay(name, bytes);
    x.lay('over.md', Buffer.alloc(DEFAULT_LIMITS.fileBytes + 1, 'x'));
    symlinkSync('nowhere', join(x.folder, 'dangling.md'));
    symlinkSync('/etc', join(x.folder, 'etc'));
    execFileSync('mkfifo', [join(x.folder, 'fifo')]);
    mkdirSync(join(x.folder, 'empty'));
    const files = await importFrom('laptop');
    expect(outcomes(files)).toEqual([
      ...['added bom.md', 'skipped dangling.md', 'skipped etc', 'added exact.md', 'skipped fifo', 'skipped over.md'],
      ...['added picture.png', 'added sub/deeper/note.md', 'added utf16.md'],
    ]);
    for (const [name, bytes] of Object.entries(kept)) expect(x.headBytes(name)?.equals(bytes), name).toBe(true);
  });

  it('one file over the limit of files is named, and none of the others', async () => {
    for (let i = 0; i <= DEFAULT_LIMITS.files; i++) x.lay(`${String(i).padStart(4, '0')}.md`, `${i}\n`);
    const files = await importFrom('laptop');
    expect(files.filter(({ outcome }) => outcome === 'added')).toHaveLength(DEFAULT_LIMITS.files);
    expect(files.filter(({ outcome }) => outcome !== 'added')).toEqual([
      { path: '2000.md', outcome: 'skipped', linesLost: 0, reason: 'is over the limit of 2000 files' },
    ]);
  });

  it('a file that changes while it is read is taken whole, or named and left for the next time', {
    timeout: 40_000,
  }, async () => {
    x.lay('a.md', '');
    const script = `const fd = require('fs').openSync(process.argv[1], 'a');
      for (const end = Date.now() + 30_000; Date.now() < end; ) require('fs').writeSync(fd, 'a whole line\\n');`;
    const writer = spawn(process.execPath, ['-e', script, join(x.folder, 'a.md')], { stdio: 'ignore' });
    const ended = once(writer, 'exit');
    try {
      await expect.poll(() => x.below('a.md'), { timeout: 20_000 }).not.toBe('');
      const limits = { ...DEFAULT_LIMITS, fileBytes: 2 ** 40, bytes: 2 ** 40 };
      for (let round = 0; round < 10; round++) {
        const [outcome = ''] = Object.values(await x.takeIn(limits));
        expect(['added', 'updated', 'same', 'skipped: changed while it was read']).toContain(outcome);
        expect((x.head('a.md') ?? '').replaceAll('a whole line\n', '')).toBe('');
      }
    } finally {
      writer.kill('SIGKILL');
      await ended;
    }
    const whole = x.below('a.md');
    expect(whole).not.toBe('');
    await x.takeIn({ ...DEFAULT_LIMITS, fileBytes: 2 ** 40, bytes: 2 ** 40 });
    expect(x.head('a.md')).toBe(whole);
  });

  it('a folder that is replaced by a link while it is read is not followed', async () => {
    x.lay('a.md', 'one');
    x.lay('sub/b.md', 'two');
    const outside = new Exchange();
    outside.lay('b.md', 'outside');
    const files = await importFolder(x.store, x.tree, x.folder, {
      source: { machine: 1, host: 'laptop', folder: '' },
      isLocal: () => false,
      maintained: [],
      limits: DEFAULT_LIMITS,
      progress: ({ path }) => {
        if (path !== 'a.md') return;
        renameSync(join(x.folder, 'sub'), join(x.folder, 'moved'));
        symlinkSync(outside.folder, join(x.folder, 'sub'));
      },
    });
    expect(files).toMatchObject([
      { outcome: 'added' },
      { outcome: 'skipped', reason: 'lies in a folder that became a link' },
    ]);
  });

  it('a file that is replaced by a link while the folder is read is not followed', async () => {
    x.lay('a.md', 'one');
    x.lay('b.md', 'two');
    writeFileSync(join(x.folder, '../outside.md'), 'outside');
    const files = await importFolder(x.store, x.tree, x.folder, {
      source: { machine: 1, host: 'laptop', folder: '' },
      isLocal: () => false,
      maintained: [],
      limits: DEFAULT_LIMITS,
      progress: ({ path }) => {
        if (path !== 'a.md') return;
        x.removeBelow('b.md');
        symlinkSync('../outside.md', join(x.folder, 'b.md'));
      },
    });
    expect(files).toMatchObject([{ outcome: 'added' }, { outcome: 'skipped', reason: 'is a symbolic link' }]);
  });
});
