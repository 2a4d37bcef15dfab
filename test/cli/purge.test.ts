import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { programPath } from '../support/program.js';
import type { RunResult } from '../support/users.js';
import { expectRefusal, Person } from './person.js';
import { filesWith } from './store-files.js';

const SECRET = 'xyzzy-plugh-4711';
let person: Person;

beforeEach(async () => {
  person = await Person.make();
});

afterEach(async () => {
  await person.remove();
});

/** Saves contents under the mount, one after the other, and takes the mount off. */
async function save(script: string): Promise<void> {
  await person.done('mount');
  await person.shell(script);
  await person.rest();
}

const purge = (file: string, ...args: string[]): Promise<RunResult> =>
  person.mend(['memory', 'purge', file, '--confirm', file, ...args]);
const inStore = (text = SECRET): string[] => filesWith(person.store, text);

test('a file goes with its history, from every file of the store, and from the plain folder', async () => {
  await save(`printf 'a ${SECRET}' > "$M/note.md"; seq -f '${SECRET} %g' 9000 > "$M/note.md"
    printf 'b ${SECRET}' > "$M/note.md"; printf other > "$M/other.md"`);
  expect(inStore()).toEqual(['store.db']);
  const plain = join(person.memory, 'note.md');
  expect(existsSync(plain)).toBe(true);
  expect(await purge('note.md')).toEqual({
    code: 0,
    signal: null,
    stdout: `purged note.md with 3 versions\nremoved the plain file ${plain}\n`,
    stderr: '',
  });
  expect(inStore()).toEqual([]);
  expect(existsSync(plain)).toBe(false);
  expectRefusal(await person.mend(['memory', 'log', 'note.md', '--json']), 1, /has no versions of note\.md/);
  expect((await person.json<{ file: string }[]>('memory')).map(({ file }) => file)).toEqual(['other.md']);
  expectRefusal(await purge('note.md'), 1, /has no memory file note\.md/);
  await person.done('mount');
  expect(await person.shell(`ls "$M"; cat "$M/other.md"`)).toBe('other.md\nother');
  expect(inStore()).toEqual([]);
});

test('a removed file can be purged; a plain file that was changed since stays, and is named', async () => {
  await save(`printf '${SECRET} 1' > "$M/gone.md"; rm "$M/gone.md"; printf '${SECRET} 2' > "$M/note.md"`);
  expect(await purge('gone.md')).toMatchObject({ code: 0, stdout: 'purged gone.md with 2 versions\n', stderr: '' });
  expect(inStore(`${SECRET} 1`)).toEqual([]);
  await person.shell(`printf 'changed since' > "$M/note.md"`);
  const result = await purge('note.md');
  expect(result).toMatchObject({ code: 3, stdout: 'purged note.md with 1 version\n' });
  expect(result.stderr).toBe(
    `mend: ${join(person.memory, 'note.md')} was changed since and stays: remove it yourself if it is to go\n`,
  );
  expect(inStore()).toEqual([]);
  expect(await person.shell(`cat "$M/note.md"`)).toBe('changed since');
});

test('one version goes, with every other that holds the same', async () => {
  await save(`for text in one ${SECRET} three ${SECRET} five; do printf $text > "$M/note.md"; done`);
  expectRefusal(await purge('note.md', '--version', '5'), 1, /version 5 is what note\.md holds now: restore another/);
  expectRefusal(await purge('note.md', '--version', '9'), 1, /note\.md has no version 9: "mend memory log" lists them/);
  expect(await purge('note.md', '--version', '2')).toMatchObject({
    code: 0,
    stdout: 'purged versions 4, 2 of note.md\n',
    stderr: '',
  });
  expect(inStore()).toEqual([]);
  expect((await person.json<{ version: number }[]>('memory', 'log', 'note.md')).map(({ version }) => version)).toEqual([
    5, 3, 1,
  ]);
  expect(await person.done('memory', 'show', 'note.md')).toBe('five');
  expect(await person.done('memory', 'diff', 'note.md')).toMatch(/-three\n.*\n\+five\n/);
  expect(await person.shell(`cat "$M/note.md"`)).toBe('five');
});

test('a plain file that still has a purged version is named, and the next mount replaces it', async () => {
  await save(`printf one > "$M/note.md"; printf ${SECRET} > "$M/note.md"`);
  await person.done('memory', 'restore', 'note.md', '--version', '1');
  const result = await purge('note.md', '--version', '2');
  expect(result).toMatchObject({ code: 3, stdout: 'purged version 2 of note.md\n' });
  expect(result.stderr).toBe(
    `mend: ${join(person.memory, 'note.md')} still holds it: remove it yourself if it is to go\n`,
  );
  await person.done('mount');
  expect(await person.shell(`cat "$M/note.md"`)).toBe('one');
  await person.rest();
  expect(await person.shell(`cat "$M/note.md"`)).toBe('one');
  expect(inStore()).toEqual([]);
});

test('what another file has too stays there, and is named', async () => {
  await save(`printf ${SECRET} > "$M/note.md"; printf ${SECRET} > "$M/copy.md"
    printf ${SECRET} > "$M/old.md"; printf new > "$M/old.md"; printf ${SECRET} > "$M/note.md~"`);
  const result = await purge('note.md');
  expect(result).toMatchObject({ code: 3, stdout: expect.stringContaining('purged note.md with 1 version\n') });
  expect(result.stderr.split('\n').sort()).toEqual([
    '',
    'mend: copy.md holds the same bytes and keeps them: purge it too if they are to go',
    'mend: note.md~, which is not memory, holds the same bytes on a mount: remove it there',
    'mend: the history of copy.md has the same bytes and keeps them: purge it too if they are to go',
    'mend: the history of old.md has the same bytes and keeps them: purge it too if they are to go',
  ]);
  expect(await person.done('memory', 'show', 'copy.md')).toBe(SECRET);
  expect(inStore()).toEqual(['store.db']);
  await person.done('mount');
  await person.shell(`rm "$M/note.md~"`);
  expect((await purge('copy.md')).code).toBe(3);
  expect(await purge('old.md', '--version', '1')).toMatchObject({ code: 0, stderr: '' });
  expect(await person.shell(`ls -A "$M"; cat "$M/old.md"`)).toBe('old.md\nnew');
  expect(inStore()).toEqual([]);
});

describe('confirmation', () => {
  beforeEach(() => save(`printf ${SECRET} > "$M/two words.md"`));

  function onTerminal(input: string, ...args: string[]): Promise<RunResult> {
    const line = [process.execPath, programPath(), 'memory', 'purge', 'two words.md', ...args];
    const command = line.map((word) => `'${word}'`).join(' ');
    return person.user.run(['script', '-qec', command, '/dev/null'], { cwd: person.repository, input });
  }

  test('without a terminal the name is to be given', async () => {
    const before = person.snapshot();
    expectRefusal(
      await person.mend(['memory', 'purge', 'two words.md']),
      2,
      /purging cannot be undone: add --confirm with the name "two words\.md"/,
    );
    expectRefusal(
      await person.mend(['memory', 'purge', 'two words.md', '--confirm', 'two']),
      2,
      /--confirm says another name: nothing was purged; give it as "two words\.md"/,
    );
    expect(inStore()).toEqual(['store.db']);
    expect(person.snapshot().filter((line) => line.includes('memory'))).toEqual(
      before.filter((line) => line.includes('memory')),
    );
  });

  test('on a terminal the name is to be typed', async () => {
    for (const typed of ['\n', 'y\n', 'two\n', '\u0004']) {
      const { code, stdout } = await onTerminal(typed);
      expect(stdout).toContain('destroys "two words.md" and its whole history for good');
      expect(stdout).toContain('nothing was purged');
      expect(code).toBe(1);
    }
    expect(await person.done('memory', 'show', 'two words.md')).toBe(SECRET);
    const { code, stdout } = await onTerminal('two words.md\n');
    expect(stdout).toContain('purged "two words.md" with 1 version');
    expect(code).toBe(0);
    expect(inStore()).toEqual([]);
  });
});

test('a backup from before an upgrade goes when it held the file, and stays when it did not', async () => {
  await save(`printf other > "$M/other.md"`);
  const sqlite = join(programPath(), '../../node_modules/better-sqlite3');
  const backUp = async (number: number): Promise<void> => {
    const script = `const [sqlite, file] = process.argv.slice(1);
      new (require(sqlite))(file).prepare('VACUUM INTO ?').run(file + '.schema-${number}.backup')`;
    const command = [process.execPath, '-e', script, sqlite, join(person.store, 'store.db')] as const;
    expect(await person.user.run(command)).toMatchObject({ code: 0 });
  };
  await backUp(0);
  await save(`printf ${SECRET} > "$M/note.md"`);
  await backUp(1);
  expect(inStore()).toEqual(['store.db', 'store.db.schema-1.backup']);
  const { stdout } = await purge('note.md');
  expect(stdout).toContain('deleted store.db.schema-1.backup, a backup from before an upgrade that held it\n');
  expect(inStore()).toEqual([]);
  expect(existsSync(join(person.store, 'store.db.schema-0.backup'))).toBe(true);
});

test('a backup stays that has the same bytes by another file, which keeps them', async () => {
  await save(`printf ${SECRET} > "$M/other.md"`);
  await person.done('store', 'backup');
  const backups = (): string[] => readdirSync(person.store).filter((name) => name.endsWith('Z.backup'));
  expect(backups()).toHaveLength(1);
  await save(`printf ${SECRET} > "$M/note.md"`);
  expect((await purge('note.md')).stderr).toContain('other.md holds the same bytes and keeps them');
  expect(backups()).toHaveLength(1);
  await purge('other.md');
  expect(backups()).toEqual([]);
});

test('while another program reads the store its log cannot be emptied; purging again completes it', async () => {
  await save(`printf ${SECRET} > "$M/note.md"`);
  const script = `const [sqlite, file] = process.argv.slice(1);
    const db = new (require(sqlite))(file);
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM content').get();
    console.log('reading');
    process.stdin.resume().on('end', () => process.exit());`;
  const sqlite = join(programPath(), '../../node_modules/better-sqlite3');
  const reader = person.user.spawn([process.execPath, '-e', script, sqlite, join(person.store, 'store.db')]);
  await once(reader.stdout ?? reader, 'data');
  const busy = await purge('note.md');
  expect(busy).toMatchObject({ code: 3, stdout: expect.stringContaining('purged note.md with 1 version\n') });
  expect(busy.stderr).toMatch(/^mend: the store is in use [^\n]+: run the command again when that is over\n$/);
  expect(inStore()).not.toEqual([]);
  const ended = once(reader, 'close');
  reader.stdin?.end();
  await ended;
  expect(await purge('note.md')).toMatchObject({
    code: 0,
    stdout: 'wiped the traces of what was purged before\n',
    stderr: 'mend: project "garden" has no memory file note.md: "mend memory" lists the files\n',
  });
  expect(inStore()).toEqual([]);
  expectRefusal(await purge('note.md'), 1, /has no memory file note\.md/);
});

test.each([
  [['nosuch.md'], 1, /has no memory file nosuch\.md/],
  [['note.md', '--version', '0'], 2, /0 is not the number of a version/],
  [['../x'], 2, /cannot be a memory file/],
  [[], 2, /missing required argument 'file'/],
] as [string[], number, RegExp][])('purge %s', async (args, code, sentence) => {
  await save(`printf x > "$M/note.md"`);
  expectRefusal(await person.mend(['memory', 'purge', ...args]), code, sentence);
});
