import { describe, expect, it } from 'vitest';
import { isLeftBehind } from '../../src/harness/left-behind.js';

const LOCAL: Record<string, readonly string[]> = {
  'Vim swap, probe and undo': ['.MEMORY.md.swp', '.MEMORY.md.swo', '.MEMORY.md.swa', '.swp', '4913', '.note.md.un~'],
  'backups of editors': ['MEMORY.md~', 'a b.md~', 'note.md.~1~', '.hidden~'],
  'Emacs auto-save and lock': ['#MEMORY.md#', '.#MEMORY.md', '#a#'],
  'lock files': ['index.lock', '.lock', 'MEMORY.md.lock', '.~lock.note.odt#', '~$note.docx'],
  'Claude Code temporaries': ['MEMORY.md.tmp.4242.0a1b2c3d4e5f', '.MEMORY.md.backfill-4242-0a1b2c.tmp'],
  'other *.tmp.* and *.tmp': ['note.tmp.1', '.tmp.x', 'a.tmp.b.md', 'MEMORY.md.tmp', '.tmp', '.syncthing.note.md.tmp'],
  'mktemp(1) and Rust tempfile': ['tmp.a8Kd03kQpz', '.tmpAbC12d'],
  'GNU sed -i': ['sedA1b2C3', 'sed0f9Kqw', 'sedXyzabc'],
  rsync: ['.MEMORY.md.Ab3dE9', '.note.x9Zq1w', '.~tmp~'],
  'GLib, Kate, JetBrains': [
    '.goutputstream-AB12CD',
    '.MEMORY.md.kate-swp',
    'MEMORY.md___jb_tmp___',
    'MEMORY.md___jb_old___',
  ],
  'removed while open': ['.fuse_hidden0000001200000003', '.nfs000000000123abcd00000001'],
  desktops: ['.DS_Store', '._MEMORY.md', 'Thumbs.db', 'desktop.ini', '.directory', '.Trash-1000', '.Trashes'],
  'inside a local folder': ['.Trash-1000/files/MEMORY.md', 'sub/.tmp/note.md', 'a/b.tmp.1/c.md'],
  'in a sub-folder': ['sub/MEMORY.md~', 'a/b/.DS_Store', 'a/b/c.lock'],
};

const MEMORY: Record<string, readonly string[]> = {
  notes: ['MEMORY.md', 'sub/deep.md', 'user_role.md', 'a', 'é😀.md', ' .md', 'Makefile'],
  'copies a person keeps': [
    'MEMORY.md.bak',
    'notes.old',
    'notes.orig',
    'notes.save',
    'MEMORY.md.rej',
    'MEMORY copy.md',
  ],
  'conflict copies hold text': ['note.sync-conflict-20240101-120000-ABCDEFG.md', 'note (conflicted copy).md'],
  'words that resemble a pattern': [
    'sediments',
    'sedation',
    'sed.md',
    'sedan1.md',
    '49131',
    '4913.md',
    'tmp.md',
    'tmp_notes_1',
  ],
  'a pattern that is not whole': [
    'lock',
    'lockfile.md',
    'clock',
    'x.lock.md',
    'tmp',
    'x.tmpl',
    'x.tmp2',
    'swp',
    'notes.swp',
    'x.swp.md',
  ],
  'hidden names': [
    '.gitignore',
    '.notes.md',
    '.config.json',
    '.eslintrc.config',
    '.x',
    '.a.svg',
    '._',
    '.#',
    '#',
    '##',
    '~',
    '.',
  ],
  'marks inside a name': ['a~b.md', 'c#.md', '#1 rule.md', '#tag', 'a/#b/c#d', '~notes.md', '$x'],
  'other case': ['.ds_store', 'thumbs.DB'],
  nothing: [''],
};

describe.each(Object.entries(LOCAL))('local: %s', (_, names) => {
  it.each(names)('%s', (name) => expect(isLeftBehind(name)).toBe(true));
});

describe.each(Object.entries(MEMORY))('memory: %s', (_, names) => {
  it.each(names)('%j', (name) => expect(isLeftBehind(name)).toBe(false));
});

it('stays linear on the longest path there can be', () => {
  const segments = ['~'.repeat(254), '.'.repeat(255), '#'.repeat(254), '.tmp'.repeat(63), 'a'.repeat(255)];
  const path = Array.from({ length: 16 }, (_, level) => `${segments[level % segments.length]}x`).join('/');
  const started = process.hrtime.bigint();
  for (let round = 0; round < 200; round++) isLeftBehind(path);
  expect(Number(process.hrtime.bigint() - started) / 200 / 1e6).toBeLessThan(20);
});
