import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { programPath } from '../support/program.js';
import type { RunResult } from '../support/users.js';
import { expectRefusal, memoryFolder, Person } from './person.js';

const ONE = 'git@github.com:me/one.git';
const TWO = 'https://github.com/me/two.git';

interface Listed {
  name: string;
  files: number;
  remotes: string[];
  paths: string[];
}

let person: Person;

beforeEach(async () => {
  person = await Person.make('one');
  await remote('one', ONE);
});

afterEach(() => person.remove());

const at = (name: string): string => join(person.user.home, name);
const notes = (name: string): string => memoryFolder(person.user.home, at(name));

/** Makes a repository where there is none, and gives it a remote. */
async function remote(name: string, url: string): Promise<void> {
  await person.shell(`cd; git init --quiet '${name}'; git -C '${name}' config remote.origin.url '${url}'`);
}

/** Mounts, writes a note, and takes the mount off. */
async function note(name: string, text: string): Promise<void> {
  expect(await person.mend(['mount'], { cwd: at(name) })).toMatchObject({ code: 0, stderr: '' });
  await person.shell(`printf '${text}' > '${notes(name)}/note.md'`);
  await person.rest();
}

const shown = async (name: string, file = 'note.md'): Promise<string> =>
  (await person.mend(['memory', 'show', file], { cwd: at(name) })).stdout;
const projects = (): Promise<Listed[]> => person.json<Listed[]>('project', 'list');
const names = async (): Promise<string[]> => (await projects()).map(({ name }) => name);

/** Runs a command as somebody who pastes it into a shell, in another folder. */
function pasted(command: string): Promise<RunResult> {
  const script = `mend() { '${process.execPath}' '${programPath()}' "$@"; }\n${command}`;
  return person.user.run(['sh', '-c', script], { cwd: '/' });
}

/** The commands that a sentence names. */
function commands(sentence: string): string[] {
  return [...sentence.matchAll(/"(mend project (?:link|new).*?)"(?= (?:or|for|if|to)\b|, or|$)/gm)].map(
    (match) => match[1] ?? '',
  );
}

/** Two projects with memory; the checkout of one has the remote of two. */
async function disagree(): Promise<string[]> {
  await remote('two', TWO);
  await note('one', 'of one');
  await note('two', 'of two');
  await remote('one', TWO);
  const refused = await person.mend(['mount']);
  expectRefusal(refused, 1, /belongs to project "two" but the path \S+ belongs to project "one"/);
  const found = commands(refused.stderr);
  expect(found).toEqual([
    `mend project link two ${at('one')}`,
    `mend project link one ${at('one')}`,
    `mend project new ${at('one')}`,
  ]);
  return found;
}

describe('a checkout whose path and remote disagree', () => {
  test('goes on with its project, and the other one has its own checkouts', async () => {
    const [, command = ''] = await disagree();
    expect(await pasted(command)).toMatchObject({
      code: 0,
      stdout: `${at('one')} belongs to project "one" now\nother checkouts of github.com/me/two stay with project "two"\n`,
      stderr: '',
    });
    expect([await shown('one'), await shown('two')]).toEqual(['of one', 'of two']);
    await note('one', 'still of one');
    expect(await names()).toEqual(['one', 'two']);
  });

  test('goes to the other project, and what lay in its folder is put aside', async () => {
    const [command = ''] = await disagree();
    await person.shell(`printf 'of one, later' > "$M/note.md"; printf new > "$M/new.md"`);
    const result = await pasted(command);
    const aside = `${person.memory}.one`;
    expect(result).toMatchObject({
      code: 3,
      stdout: [
        `${at('one')} belongs to project "two" now`,
        'project "one" keeps its memory: "mend memory --project one" lists it',
        `the plain files of project "one" in ${person.memory} are in ${aside} now`,
        '',
      ].join('\n'),
    });
    expect(result.stderr).toMatch(
      /^mend: 2 files in \S+memory\.one are not as the memory of project "one" last had them/,
    );
    expect(await shown('one')).toBe('of two');
    expect(await person.done('mount')).toBe(`mounted ${person.memory}\n`);
    expect(await person.shell('ls "$M"; cat "$M/note.md"')).toBe('note.md\nof two');
    await person.rest();
    expect(readFileSync(join(aside, 'note.md'), 'utf8')).toBe('of one, later');
    expect(await person.done('memory', 'show', 'note.md', '--project', 'one')).toBe('of one');
    expect(await shown('two')).toBe('of two');
    // What had changed there is taken in by the command that is named.
    const [, take = ''] = /"(mend memory import .*)" takes them in/.exec(result.stderr) ?? [];
    expect((await pasted(take)).code).toBe(0);
    expect(await person.done('memory', 'show', 'new.md', '--project', 'one')).toBe('new');
    expect(await person.done('memory', 'show', 'note.md', '--project', 'one')).toContain('of one, later');
    expect((await person.json<{ file: string }[]>('memory')).map(({ file }) => file)).toEqual(['note.md']);
  });

  test('becomes a project of its own, without memory, and can be given back', async () => {
    const [, , command = ''] = await disagree();
    expect(await pasted(command)).toMatchObject({
      code: 0,
      stdout: [
        `${at('one')} belongs to project "me/two" now`,
        'other checkouts of github.com/me/two stay with project "two"',
        'project "one" keeps its memory: "mend memory --project one" lists it',
        `the plain files of project "one" in ${person.memory} are in ${person.memory}.one now`,
        '',
      ].join('\n'),
      stderr: '',
    });
    expect(await person.json('memory')).toEqual([]);
    await note('one', 'of its own');
    expect([await shown('one'), await shown('two')]).toEqual(['of its own', 'of two']);
    expect(await person.mend(['project', 'link', 'one'])).toMatchObject({ code: 0, stderr: '' });
    expect(await person.done('mount')).toBe(`mounted ${person.memory}\n`);
    expect(await person.shell('cat "$M/note.md"')).toBe('of one');
    expect(await person.done('memory', 'show', 'note.md', '--project', 'me/two')).toBe('of its own');
  });

  test('is not given away while it is mounted', async () => {
    await remote('two', TWO);
    await note('two', 'of two');
    await person.done('mount');
    const before = await projects();
    const sentence = `the memory of project "one" is mounted on ${person.memory}: run "mend unmount ${person.memory}" first`;
    for (const command of [['link', 'two'], ['new']]) {
      await person.shell('printf x > "$M/note.md"');
      const result = await person.mend(['project', ...command]);
      expect(result).toMatchObject({ code: 1, stdout: '', stderr: `mend: ${sentence}\n` });
    }
    expect(await projects()).toEqual(before.map((row) => (row.name === 'one' ? { ...row, files: 1 } : row)));
    expect(await person.done('project', 'link', 'one')).toBe(`${at('one')} belongs to project "one" now\n`);
    expect(await pasted(`mend unmount ${person.memory}`)).toMatchObject({ code: 0 });
    expect((await person.mend(['project', 'link', 'two'])).code).toBe(0);
  });
});

test('a remote with a new URL is linked, and a clone of it is that project', async () => {
  await note('one', 'of one');
  await remote('one', 'https://example.org/moved/one');
  const refused = await person.mend(['memory']);
  expectRefusal(refused, 1, /example\.org\/moved\/one belongs to no project yet but the path/);
  const [link = '', fresh = '', ...rest] = commands(refused.stderr);
  expect([fresh, rest]).toEqual([`mend project new ${at('one')}`, []]);
  expect(await pasted(link)).toMatchObject({
    code: 0,
    stdout: `${at('one')} belongs to project "one" now\nso does every checkout of example.org/moved/one\n`,
  });
  await remote('clone', 'git@example.org:moved/one');
  expect(await shown('clone')).toBe('of one');
});

test('names and folders that a shell would read otherwise are quoted for it', async () => {
  const odd = `it's "odd" $HOME;x`;
  await person.shell(`cd; git init --quiet "$(printf %s '${odd.replaceAll("'", "'\\''")}')"`);
  await note('one', 'of one');
  await person.done('project', 'rename', 'one', odd);
  const cwd = at(odd);
  expect(await person.mend(['project', 'link', odd, '.'], { cwd })).toMatchObject({
    code: 0,
    stdout: `${JSON.stringify(cwd)} belongs to project "${odd}" now\n`,
  });
  await person.shell(`git -C ~/one config remote.origin.url '${TWO}'`);
  const refused = await person.mend(['mount']);
  const [link = ''] = commands(refused.stderr);
  expect(link).toBe(`mend project link 'it'\\''s "odd" $HOME;x' ${at('one')}`);
  expect(await pasted(link)).toMatchObject({ code: 0, stderr: '' });
  expect(await shown('one')).toBe('of one');
});

test('two links at once leave the checkout with one of both', async () => {
  await remote('two', TWO);
  await remote('three', 'https://github.com/me/three');
  for (const name of ['one', 'two', 'three']) await note(name, `of ${name}`);
  const results = await Promise.all(
    ['two', 'three', 'two', 'three'].map((name) => person.mend(['project', 'link', name])),
  );
  for (const result of results) expect(result).toMatchObject({ code: 0, stderr: '' });
  const owners = (await projects()).filter(({ paths }) => paths.includes(at('one')));
  expect(owners).toHaveLength(1);
  expect(await shown('one')).toBe(`of ${owners[0]?.name}`);
  expect(readFileSync(join(`${person.memory}.one`, 'note.md'), 'utf8')).toBe('of one');
  expect(existsSync(person.memory)).toBe(false);
  const news = await Promise.all([1, 2, 3].map(() => person.mend(['project', 'new'])));
  for (const result of news) expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(await names()).toHaveLength(4);
});

test('what cannot be is refused, and changes nothing', async () => {
  await note('one', 'of one');
  const before = await projects();
  for (const [args, code, sentence] of [
    [['link'], 2, /missing required argument 'name'/],
    [['link', 'nosuch'], 1, /there is no project "nosuch": "mend project list" shows the names/],
    [['link', 'one', '/nosuch'], 1, /there is no folder "\/nosuch"/],
    [['link', 'one', '.', 'more'], 2, /too many arguments/],
    [['new', '/nosuch'], 1, /there is no folder "\/nosuch"/],
    [['new', '/etc/passwd'], 1, /is not a folder/],
    [['new', 'a', 'b'], 2, /too many arguments/],
    [['nosuch'], 2, /unknown command 'nosuch'/],
  ] as [string[], number, RegExp][]) {
    expectRefusal(await person.mend(['project', ...args]), code, sentence);
  }
  expect(await projects()).toEqual(before);
});

test('a folder in a mount is refused, and without a store there is nothing to link to', async () => {
  expectRefusal(await person.mend(['project', 'link', 'one']), 1, /there is no memory yet/);
  expect(existsSync(person.store)).toBe(false);
  await person.done('mount');
  expectRefusal(await person.mend(['project', 'new', person.memory]), 1, /lies in a mounted memory folder/);
  // Only the person may stand there.
  const script = 'cd "$0"; exec "$@"';
  const inside = [process.execPath, programPath(), 'project', 'link', 'one'];
  const result = await person.user.run(['sh', '-c', script, person.memory, ...inside]);
  expectRefusal(result, 1, /lies in a mounted memory folder/);
});
