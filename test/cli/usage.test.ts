import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectRefusal, Person } from './person.js';

let person: Person;

beforeAll(async () => {
  person = await Person.make();
});

afterAll(async () => {
  await person.remove();
});

const commands = [
  [],
  ['mount'],
  ['unmount'],
  ['status'],
  ['adopt'],
  ['memory'],
  ['memory', 'list'],
  ['memory', 'show'],
  ['memory', 'rm'],
  ['memory', 'log'],
  ['memory', 'diff'],
  ['memory', 'restore'],
  ['memory', 'purge'],
  ['project'],
  ['project', 'list'],
  ['run'],
  ['env'],
  ['session'],
  ['session', 'list'],
  ['session', 'show'],
  ['session', 'end'],
];

describe('help and version', () => {
  test.each(commands.map((command) => [command.join(' ') || 'mend', command] as const))(
    '%s --help',
    async (_, command) => {
      const { code, stdout, stderr } = await person.mend([...command, '--help']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(new RegExp(`^Usage: ${['mend', ...command].join(' ')}\\b`));
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    },
  );

  test('mend help names every command', async () => {
    const help = await person.done('help');
    for (const name of ['mount', 'unmount', 'status', 'adopt', 'memory', 'project', 'daemon', 'store'])
      expect(help).toMatch(new RegExp(`^  ${name} `, 'm'));
    expect(help).not.toContain('__complete');
  });

  test.each([[''], ['store'], ['daemon']])('mend %s without a command prints the help as an error', async (group) => {
    const { code, stdout, stderr } = await person.mend(group === '' ? [] : [group]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^Usage: mend ${group}`));
  });

  test('mend --version', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
      version: string;
    };
    expect(await person.done('--version')).toBe(`${version}\n`);
  });
});

describe('wrong usage ends with status 2 and one sentence', () => {
  test.each([
    [['nosuch'], /unknown command 'nosuch'/],
    [['mout'], /perhaps you mean mount/],
    [['--nosuch'], /unknown option '--nosuch'/],
    [['mount', '--nosuch'], /unknown option '--nosuch'/],
    [['mount', 'a', 'b'], /too many arguments for 'mount'/],
    [['mount', '--all', '.'], /--all takes every project/],
    [['mount', '--all', '--project', 'x'], /--all takes every project/],
    [['mount', '.', '--project', 'x'], /not both/],
    [['mount', '--harness', 'nosuch'], /no harness "nosuch"/],
    [['mount', '--harness', 'pi'], /pi keeps no memory/],
    [['unmount', '--all', '.'], /--all takes every mount/],
    [['unmount', '.', '--project', 'x'], /not both/],
    [['status', 'x'], /too many arguments/],
    [['adopt', '--nosuch'], /unknown option/],
    [['memory', 'nosuch'], /unknown command 'nosuch'/],
    [['memory', 'list', 'x'], /unknown command 'x'/],
    [['memory', 'show'], /missing required argument 'file'/],
    [['memory', 'rm'], /missing required argument 'file'/],
    [['memory', '--project'], /argument missing/],
    [['project', 'nosuch'], /unknown command 'nosuch'/],
    [['completion', 'tcsh'], /^mend: the shell cannot be 'tcsh', only one of bash, zsh, fish: /],
  ] as [string[], RegExp][])('mend %s', async (args, sentence) => {
    expectRefusal(await person.mend(args), 2, sentence);
  });

  test('a store folder that is not absolute', async () => {
    expectRefusal(
      await person.mend(['status'], { env: { MEND_STORE_DIR: 'here' } }),
      2,
      /MEND_STORE_DIR must be an absolute path/,
    );
  });
});

describe('a name that cannot be a file of memory', () => {
  const names: [string, string][] = [
    ['empty', ''],
    ['absolute', '/etc/passwd'],
    ['..', '..'],
    ['leading out', '../../secret'],
    ['leading out and back', 'a/../b.md'],
    ['.', './a.md'],
    ['a slash at the end', 'a/'],
    ['two slashes', 'a//b'],
    ['a line break', 'a\nb.md'],
    ['an escape sequence', 'a\u001b[31mb.md'],
    ['a control character of eight bits', 'a\u009b31mb.md'],
    ['too long', 'a'.repeat(256)],
    ['too deep', Array(17).fill('a').join('/')],
    ['.. behind the name of a harness', 'claude:../x'],
  ];
  for (const command of ['show', 'rm', 'log', 'diff', 'restore', 'purge']) {
    test.each(names)(`memory ${command}: %s`, async (_, name) => {
      const options = command === 'restore' ? ['--version', '1'] : [];
      const result = await person.mend(['memory', command, ...options, '--', name]);
      expectRefusal(result, 2, /cannot be a memory file/);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
      expect(result.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    });
  }
});

test('before anything is mounted', async () => {
  const before = person.snapshot();
  for (const args of [
    ['memory'],
    ['memory', 'show', 'a.md'],
    ['memory', 'rm', 'a.md'],
    ['memory', 'log'],
    ['memory', 'diff', 'a.md'],
    ['memory', 'restore', 'a.md', '--version', '1'],
    ['memory', 'purge', 'a.md', '--confirm', 'a.md'],
    ['mount', '--all'],
    ['memory', '--project', 'x'],
  ]) {
    expectRefusal(await person.mend(args), 1, /there is no memory yet: run "mend mount" in a checkout first/);
  }
  expectRefusal(await person.mend(['unmount']), 1, /nothing is mounted for this project/);
  expect(await person.done('unmount', '--all')).toBe('nothing is mounted\n');
  expect(await person.done('project', 'list')).toBe('no project has memory yet: run "mend mount" in a checkout\n');
  expect(await person.json('project', 'list')).toEqual([]);
  expect(await person.done('status')).toContain('nothing is mounted\n');
  expect(await person.json('status')).toMatchObject({ pid: null, store: { bytes: 0 }, mounts: [], sessions: [] });
  expect(person.snapshot()).toEqual(before);
});
