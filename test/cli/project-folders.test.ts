import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { expectRefusal, memoryFolder, Person } from './person.js';

let person: Person;

/** Claude Code has one folder for `a-b` and `a/b`. */
beforeEach(async () => {
  person = await Person.make('a-b');
  await person.shell('cd; git init --quiet a/b; mkdir -p "$M"; printf dashed > "$M/note.md"');
  expect(memoryFolder(person.user.home, nested())).toBe(person.memory);
});

afterEach(() => person.remove());

const nested = (): string => join(person.user.home, 'a/b');
const names = async (): Promise<string[]> =>
  (await person.json<{ name: string }[]>('project', 'list')).map(({ name }) => name);
const refusal = (): RegExp =>
  new RegExp(
    `the memory folder ${person.memory} of ${nested()} is that of ${person.repository}, too, which belongs to project "a-b", ` +
      `.* run "mend project link a-b ${nested()}" if both are one project, or set CLAUDE_CONFIG_DIR to another folder`,
  );

test('two repositories that have one memory folder are not mixed', async () => {
  await person.done('mount');
  for (const state of ['mounted', 'unmounted']) {
    if (state === 'unmounted') await person.rest();
    for (const command of [['mount'], ['memory', 'import'], ['memory', 'import', '--dry-run']])
      expectRefusal(await person.mend(command, { cwd: nested() }), 1, refusal());
    expect(await names()).toEqual(['a-b']);
    expect(await person.shell('ls -A "$M"; cat "$M/note.md"')).toBe('note.md\ndashed');
  }
  expect(await person.done('memory', 'show', 'note.md')).toBe('dashed');
  expect(await person.done('mount')).toBe(`mounted ${person.memory}\n`);
});

test('another configuration folder for one of them parts them', async () => {
  await person.done('mount');
  await person.rest();
  const env = { CLAUDE_CONFIG_DIR: join(person.user.home, 'other') };
  expect(await person.mend(['mount'], { cwd: nested(), env })).toMatchObject({ code: 0, stderr: '' });
  const memory = person.memory.replace('/.claude/', '/other/');
  await person.shell(`printf nested > "${memory}/note.md"`);
  await person.rest();
  expect(await person.done('memory', 'show', 'note.md')).toBe('dashed');
  expect((await person.mend(['memory', 'show', 'note.md'], { cwd: nested() })).stdout).toBe('nested');
  expect(await person.done('mount')).toBe(`mounted ${person.memory}\n`);
  expectRefusal(await person.mend(['mount'], { cwd: nested() }), 1, refusal());
  expect((await person.mend(['mount'], { cwd: nested(), env })).code).toBe(0);
});

test('both may be one project', async () => {
  await person.done('mount');
  await person.rest();
  const linked = await person.mend(['project', 'link', 'a-b', nested()], { cwd: '/' });
  expect(linked).toMatchObject({ code: 0, stdout: `${nested()} belongs to project "a-b" now\n`, stderr: '' });
  expect(await person.mend(['mount'], { cwd: nested() })).toMatchObject({ code: 0, stderr: '' });
  expect(await person.shell('cat "$M/note.md"')).toBe('dashed');
  await person.rest();
});

test('a folder whose checkout is gone is put aside for the one that has it now', async () => {
  await person.done('mount');
  await person.rest();
  await person.shell(`mv ~/a-b ~/elsewhere`);
  const refused = await person.mend(['mount'], { cwd: nested() });
  expectRefusal(
    refused,
    1,
    new RegExp(`holds memory of project "a-b": run "mend project new ${nested()}" to put that aside`),
  );
  expect(await person.mend(['project', 'new', nested()], { cwd: '/' })).toMatchObject({ code: 0, stderr: '' });
  expect(existsSync(join(`${person.memory}.a-b`, 'note.md'))).toBe(true);
  expect(await person.mend(['mount'], { cwd: nested() })).toMatchObject({
    code: 0,
    stdout: `mounted ${person.memory}\n`,
    stderr: '',
  });
  expect(await person.shell('ls -A "$M"')).toBe('');
  const kept = await person.mend(['memory', 'show', 'note.md', '--project', 'a-b'], { cwd: '/' });
  expect(kept).toMatchObject({ code: 0, stdout: 'dashed' });
});

test('a checkout of another project in the place of one is not mounted with its memory', async () => {
  await person.shell('git -C ~/a-b config remote.origin.url https://example.org/me/garden');
  await person.done('mount');
  await person.rest();
  await person.shell(
    'mv ~/a-b ~/away; cd; git init --quiet a-b; git -C a-b config remote.origin.url https://example.org/me/other',
  );
  for (const args of [
    ['mount', '--all'],
    ['mount', '--project', 'garden'],
  ]) {
    const result = await person.mend(args, { cwd: '/' });
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toContain(`"mend project link garden ${person.repository}"`);
    expect(person.mounts()).toEqual([]);
  }
});
