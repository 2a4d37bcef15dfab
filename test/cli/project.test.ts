import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectRefusal, Person } from './person.js';

let person: Person;

beforeAll(async () => {
  person = await Person.make('my garden');
  await person.shell('cd; git init --quiet shed');
  await person.done('mount');
  await person.shell('printf rake > "$M/tools.md"');
  expect((await person.mend(['mount', 'shed'], { cwd: person.user.home })).code).toBe(0);
});

afterAll(() => person.remove());

const names = async (): Promise<string[]> =>
  (await person.json<{ name: string }[]>('project', 'list')).map(({ name }) => name);

describe('rename', () => {
  test('gives a project another name, which its mounts have at once', async () => {
    expect(await person.done('project', 'rename', 'my garden', 'meadow')).toBe(
      'renamed project "my garden" to "meadow"\n',
    );
    expect(await names()).toEqual(['meadow', 'shed']);
    expect(await person.done('memory', 'show', 'tools.md', '--project', 'meadow')).toBe('rake');
    const status = await person.json<{ mounts: { project: string }[] }>('status');
    expect(status.mounts.map(({ project }) => project).sort()).toEqual(['meadow', 'shed']);
    expect(await person.done('project', 'rename', 'meadow', 'meadow')).toBe('project "meadow" has that name already\n');
    await person.done('project', 'rename', 'meadow', 'my garden');
  });

  test.each(['owner/garden', 'a "b" c', "it's", '🌱 é', '$(id)'])('takes %j', async (name) => {
    expect(await person.done('project', 'rename', 'my garden', name)).toBe(
      `renamed project "my garden" to "${name}"\n`,
    );
    expect(await names()).toContain(name);
    expect(await person.done('memory', 'show', 'tools.md', '--project', name)).toBe('rake');
    await person.done('project', 'rename', name, 'my garden');
  });

  test('takes a name that looks like an option after --', async () => {
    await person.done('project', 'rename', '--', 'my garden', '-x');
    expect(await names()).toContain('-x');
    await person.done('project', 'rename', '--', '-x', 'my garden');
  });

  test.each([
    [['my garden', ''], 2, /the new name is empty: choose another/],
    [['my garden', ' x'], 2, /the new name begins or ends with a blank or a slash/],
    [['my garden', 'x/'], 2, /the new name begins or ends with a blank or a slash/],
    [['my garden', 'a\nb'], 2, /the new name has control characters/],
    [['my garden', 'x'.repeat(201)], 2, /the new name is longer than 200 bytes/],
    [['my garden', 'shed'], 1, /there is a project "shed" already: choose another name/],
    [['nosuch', 'x'], 1, /there is no project "nosuch": "mend project list" shows the names/],
    [['nosuch'], 2, /missing required argument 'new'/],
    [['my garden', 'x', 'y'], 2, /too many arguments/],
  ] as [string[], number, RegExp][])('%j is refused', async (args, code, sentence) => {
    expectRefusal(await person.mend(['project', 'rename', ...args]), code, sentence);
    expect(await names()).toEqual(['my garden', 'shed']);
  });

  test('to one name by two at once is done by one of them', async () => {
    const results = await Promise.all(
      ['my garden', 'shed'].map((old) => person.mend(['project', 'rename', old, 'field'])),
    );
    expect(results.map(({ code }) => code).sort()).toEqual([0, 1]);
    const other = results[0]?.code === 0 ? 'shed' : 'my garden';
    expect(await names()).toEqual(['field', other].sort());
    await person.done('project', 'rename', 'field', other === 'shed' ? 'my garden' : 'shed');
  });
});

test('every command has its help', async () => {
  const all = await person.done('project', '--help');
  for (const command of ['list', 'rename', 'link', 'new', 'forget']) {
    expect(all).toMatch(new RegExp(`^  ${command} `, 'm'));
    expect(await person.done('project', command, '--help')).toMatch(new RegExp(`^Usage: mend project ${command} `));
  }
});

test('list names the checkouts here', async () => {
  expect(await person.json('project', 'list')).toEqual([
    { name: 'my garden', files: 1, remotes: [], paths: [person.repository] },
    { name: 'shed', files: 0, remotes: [], paths: [join(person.user.home, 'shed')] },
  ]);
});
