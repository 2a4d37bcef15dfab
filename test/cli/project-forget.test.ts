import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { programPath } from '../support/program.js';
import { expectRefusal, memoryFolder, Person } from './person.js';
import { filesWith } from './store-files.js';

const SECRET = 'xyzzy-plugh-4711';
let person: Person;

beforeEach(async () => {
  person = await Person.make('it\'s a "garden"');
  await person.shell('cd; git init --quiet shed');
  await person.done('mount');
  await person.shell(`printf '${SECRET} 1' > "$M/note.md"; printf '${SECRET} 2' > "$M/note.md"
    printf '${SECRET} 3' > "$M/gone.md"; rm "$M/gone.md"; printf '${SECRET} 4' > "$M/.note.md.swp"; printf same > "$M/same.md"`);
  expect((await person.mend(['mount', 'shed'], { cwd: person.user.home })).code).toBe(0);
  await person.shell(`printf same > '${shed()}/same.md'; printf other > '${shed()}/other.md'`);
});

afterEach(() => person.remove());

const NAME = 'it\'s a "garden"';
const shed = (): string => memoryFolder(person.user.home, join(person.user.home, 'shed'));
const inStore = (): string[] => filesWith(person.store, SECRET);
const forget = (name = NAME, ...args: string[]) => person.mend(['project', 'forget', name, '--confirm', name, ...args]);
const names = async (): Promise<string[]> =>
  (await person.json<{ name: string }[]>('project', 'list')).map(({ name }) => name);

test('a project goes with its history and from every file of the store, while another one is served', async () => {
  await person.done('unmount');
  expect(inStore()).not.toEqual([]);
  expect(await forget()).toEqual({
    code: 0,
    signal: null,
    stdout:
      `forgot project "${NAME}" with 2 files and 5 versions\n` +
      `${JSON.stringify(person.memory).slice(1, -1)} stays as it is: remove it, too, unless a mount is to take in what lies there\n`,
    stderr: '',
  });
  expect(inStore()).toEqual([]);
  // The log tells what was mounted where.
  expect(filesWith(person.store, 'garden')).toEqual(['daemon.log']);
  expect(await names()).toEqual(['shed']);
  expectRefusal(await forget(), 1, /there is no project/);
  // What the other one has too, it keeps, and it goes on being served.
  await person.shell(`printf more > '${shed()}/more.md'; cat '${shed()}/same.md' '${shed()}/other.md'`);
  const files = await person.json<{ file: string }[]>('memory', '--project', 'shed');
  expect(files.map(({ file }) => file)).toEqual(['more.md', 'other.md', 'same.md']);
  expect(await person.done('memory', 'show', 'same.md', '--project', 'shed')).toBe('same');
  expect(readFileSync(join(person.memory, 'note.md'), 'utf8')).toBe(`${SECRET} 2`);
});

test('a mount afterwards makes the project anew, from what lies in the folder', async () => {
  await person.done('unmount');
  await forget();
  expect(await person.done('mount')).toMatch(/took in 2 files that lay there/);
  expect(await names()).toEqual([NAME, 'shed']);
  const log = await person.json<{ kind: string }[]>('memory', 'log', 'note.md');
  expect(log.map(({ kind }) => kind)).toEqual(['imported']);
  await person.shell(`printf again > "$M/note.md"`);
  expect(await person.done('memory', 'show', 'note.md')).toBe('again');
});

test('a mounted project is refused, also when its daemon died', async () => {
  const sentence = /is mounted on .*: run "mend unmount .*" first/;
  expectRefusal(await forget(), 1, sentence);
  expectRefusal(await forget('shed'), 1, sentence);
  for (const pid of person.processes()) process.kill(pid, 'SIGKILL');
  const dead = await forget();
  expectRefusal(dead, 1, sentence);
  expect(await person.done('memory', 'show', 'note.md')).toBe(`${SECRET} 2`);
  const command = /run "(mend unmount .*)" first/.exec(dead.stderr)?.[1] ?? '';
  const script = `mend() { '${process.execPath}' '${programPath()}' "$@"; }\n${command}`;
  expect(await person.user.run(['sh', '-c', script], { cwd: '/' })).toMatchObject({ code: 0 });
  expect(await forget()).toMatchObject({ code: 0, stderr: '' });
  expect(inStore()).toEqual([]);
});

test('two at once: one forgets, the other finds nothing', async () => {
  await person.done('unmount', '--all');
  const results = await Promise.all([forget(), forget()]);
  expect(results.map(({ stdout }) => /forgot project/.test(stdout)).sort()).toEqual([false, true]);
  expect((await forget()).stderr).toMatch(/there is no project/);
  expect(inStore()).toEqual([]);
  expect(await names()).toEqual(['shed']);
});

describe('confirmation', () => {
  test('without a terminal the name is to be given', async () => {
    await person.done('unmount', '--all');
    const args = ['project', 'forget', NAME];
    expectRefusal(
      await person.mend(args),
      2,
      /forgetting cannot be undone: add --confirm with the name "it's a \\"garden\\""/,
    );
    expectRefusal(
      await person.mend([...args, '--confirm', 'garden']),
      2,
      /--confirm says another name: nothing was forgotten/,
    );
    expectRefusal(await person.mend(['project', 'forget']), 2, /missing required argument 'name'/);
    expect(await names()).toContain(NAME);
  });

  test('on a terminal the name is to be typed', async () => {
    await person.done('unmount', '--all');
    const command = [process.execPath, programPath(), 'project', 'forget', 'shed'].map((word) => `'${word}'`).join(' ');
    const typing = (input: string) => person.user.run(['script', '-qec', command, '/dev/null'], { input });
    for (const typed of ['\n', 'y\n', '\u0004']) {
      const { code, stdout } = await typing(typed);
      expect(stdout).toContain('This destroys project shed with 2 files and their whole history for good');
      expect(stdout).toContain('nothing was forgotten');
      expect(code).toBe(1);
    }
    expect(await typing('shed\n')).toMatchObject({ code: 0 });
    expect(await names()).toEqual([NAME]);
  });
});

test('a backup from before an upgrade goes when it held the project', async () => {
  await person.rest();
  const sqlite = join(programPath(), '../../node_modules/better-sqlite3');
  const script = `const [sqlite, file] = process.argv.slice(1);
    new (require(sqlite))(file).prepare('VACUUM INTO ?').run(file + '.schema-2.backup')`;
  const command = [process.execPath, '-e', script, sqlite, join(person.store, 'store.db')] as const;
  expect(await person.user.run(command)).toMatchObject({ code: 0 });
  expect((await forget()).stdout).toContain(
    'deleted store.db.schema-2.backup, a backup from before an upgrade that held it\n',
  );
  expect(existsSync(join(person.store, 'store.db.schema-2.backup'))).toBe(false);
  expect(inStore()).toEqual([]);
});

test('while another program reads the store its traces stay, and forgetting again wipes them', async () => {
  await person.rest();
  const script = `const [sqlite, file] = process.argv.slice(1);
    const db = new (require(sqlite))(file);
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM content').get();
    console.log('reading');
    process.stdin.resume().on('end', () => process.exit());`;
  const sqlite = join(programPath(), '../../node_modules/better-sqlite3');
  const reader = person.user.spawn([process.execPath, '-e', script, sqlite, join(person.store, 'store.db')]);
  await once(reader.stdout ?? reader, 'data');
  expect(await forget()).toMatchObject({ code: 3, stderr: expect.stringContaining('the store is in use') });
  const ended = once(reader, 'close');
  reader.stdin?.end();
  await ended;
  expect(await forget()).toMatchObject({
    code: 0,
    stdout: 'wiped the traces of what was purged before\n',
    stderr: `mend: there is no project "${NAME}": "mend project list" shows the names\n`,
  });
  expect(inStore()).toEqual([]);
});
