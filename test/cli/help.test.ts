import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.js';
import { commandWords } from '../../src/cli/usage-hint.js';
import { programPath } from '../support/program.js';
import type { RunResult } from '../support/users.js';
import { expectRefusal, Person } from './person.js';
import { onTerminal } from './terminal.js';

let person: Person;

beforeAll(async () => {
  person = await Person.make();
});

afterAll(async () => {
  await person.remove();
});

/** Every command that people are told of. */
function commandsUnder(command: Command): Command[] {
  const children = command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help');
  return [command, ...children.flatMap(commandsUnder)];
}

const commands = commandsUnder(await buildProgram(async () => undefined)).map(
  (command) => [commandWords(command), command] as const,
);
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const ESCAPE = /\u001b\[/;

/** Groups of commands that run none of them when none is named. */
const WITHOUT_DEFAULT = ['mend admin', 'mend daemon', 'mend store'];

/** What a group of commands runs when none of them is named. */
function defaultOf(words: string, command: Command): string {
  const isAlone = WITHOUT_DEFAULT.includes(words);
  return command.commands.length === 0 || !command.parent || isAlone ? words : `${words} list`;
}

const helps = new Map<string, Promise<RunResult>>();

/** What a command with `--help` says, which is asked once. */
function helpOf(words: string): Promise<RunResult> {
  const known = helps.get(words) ?? person.mend([...words.split(' ').slice(1), '--help']);
  helps.set(words, known);
  return known;
}

describe('every command', () => {
  test.each(commands)('%s describes itself, its arguments and its options', (words, command) => {
    expect(command.description(), words).not.toBe('');
    for (const option of command.options) expect(option.description, option.flags).not.toBe('');
    for (const text of [command.description(), command.summary()]) expect(text).not.toMatch(/^[A-Z]|\.$/);
  });

  test.each(commands)('%s --help fits a terminal', async (words) => {
    const { code, stdout, stderr } = await helpOf(words);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(stdout).not.toMatch(ESCAPE);
  });

  test.each(commands)('%s points to its own help when something is wrong with its options', async (words, command) => {
    const result = await person.mend([...words.split(' ').slice(1), '--nosuch']);
    const run = defaultOf(words, command);
    expectRefusal(result, 2, new RegExp(`^mend: [^"]* option [^"]*: "${run} --help" says what there is\\n$`));
  });
});

test('mend --help lists commands in groups, one line each', async () => {
  const help = await person.done('--help');
  const groups = help.split('\n\n').slice(3);
  expect(groups.map((group) => group.split('\n')[0])).toEqual(['Memory folders:', 'Agents:', 'Memory:', 'Set-up:']);
  const lines = groups.flatMap((group) => group.trimEnd().split('\n').slice(1));
  for (const line of lines) expect(line).toMatch(/^ {2}[a-z]+ +[a-z]/);
  const names = lines.map((line) => line.trim().split(' ')[0]);
  expect(names.slice(0, 3)).toEqual(['mount', 'unmount', 'status']);
  expect(names.at(-1)).toBe('help');
});

describe('mend help', () => {
  test.each(commands)('%s is what --help prints', async (words) => {
    const path = words.split(' ').slice(1);
    const { stdout } = await helpOf(words);
    expect(await person.done('help', ...path)).toBe(stdout);
    const [group = '', ...rest] = path;
    if (rest.length > 0) expect(await person.done(group, 'help', ...rest)).toBe(stdout);
  });

  test.each([
    [['bogus'], 'mend'],
    [['__complete'], 'mend'],
    [['memory', 'bogus'], 'mend memory'],
    [['memory', 'show', 'bogus'], 'mend memory show'],
  ] as [string[], string][])('%s is unknown', async (words, where) => {
    const sentence = new RegExp(`^mend: unknown command '${words.at(-1)}': "${where} --help" says what there is\n$`);
    expectRefusal(await person.mend(['help', ...words]), 2, sentence);
  });
});

describe('options of a group of commands', () => {
  const groups = commands.filter(([, command]) => command.parent && command.commands.length > 0);
  const cases = groups.flatMap(([words, group]) =>
    group.commands
      .filter((command) => command.name() !== 'help' && !command.options.some(({ long }) => long === '--json'))
      .map((command) => [`${words} --json ${command.name()}`, command] as const),
  );

  test.each(cases)('%s is refused like behind the name', async (words, command) => {
    // As many words as it wants: nothing but the option is wrong.
    const operands = command.registeredArguments.filter(({ required }) => required).map(() => 'x.md');
    const version = command.options.some(({ mandatory }) => mandatory) ? ['--version', '1'] : [];
    const result = await person.mend([...words.split(' ').slice(1), ...operands, ...version]);
    const { parent } = command;
    const hasOption = parent?.options.some(({ long }) => long === '--json');
    const own = hasOption || !parent ? words.replace(' --json', '') : defaultOf(commandWords(parent), parent);
    expectRefusal(result, 2, new RegExp(`^mend: unknown option '--json': "${own} --help" says what there is\\n$`));
  });

  test('are in its help, and taken before and behind the name', async () => {
    for (const group of ['memory', 'project']) expect(await person.done(group, '--help')).toMatch(/^ {2}--json /m);
    for (const args of [['--json'], ['--json', 'list'], ['list', '--json']])
      expect(JSON.parse(await person.done('project', ...args))).toEqual([]);
  });
});

describe('the help that is pointed to', () => {
  test.each([
    [['nosuch'], 'mend --help'],
    [['memory', 'nosuch'], 'mend memory --help'],
    [['memory', 'show'], 'mend memory show --help'],
    [['memory', 'list', '--nosuch'], 'mend memory list --help'],
    [['mount', 'a', 'b'], 'mend mount --help'],
    [['project', 'list', 'x'], 'mend project --help'],
    [['completion', 'tcsh'], 'mend completion --help'],
  ] as [string[], string][])('mend %s', async (args, help) => {
    expectRefusal(await person.mend(args), 2, new RegExp(`: "${help}" says what there is\\n$`));
    expect((await person.mend(help.split(' ').slice(1))).code).toBe(0);
  });
});

describe('colour', () => {
  const program = (): string => `'${process.execPath}' '${programPath()}'`;
  const coloured = ['memory diff a.md', 'doctor'];

  beforeAll(async () => {
    await person.done('mount');
    await person.shell('echo one > "$M/a.md"; echo two > "$M/a.md"');
  });

  test.each(coloured)('mend %s has it on a terminal', async (words) => {
    expect((await onTerminal(person, `${program()} ${words}`)).stdout).toMatch(ESCAPE);
  });

  test.each(coloured)('mend %s has none with NO_COLOR, nor on a terminal without', async (words) => {
    const plain = await onTerminal(person, `${program()} ${words}`, { NO_COLOR: '1' });
    expect(plain.stdout.length).toBeGreaterThan(0);
    expect(plain.stdout).not.toMatch(ESCAPE);
    expect((await onTerminal(person, `${program()} ${words}`, { TERM: 'dumb' })).stdout).not.toMatch(ESCAPE);
    const both = await onTerminal(person, `${program()} ${words}`, { NO_COLOR: '1', FORCE_COLOR: '1' });
    expect(both.stdout.length).toBeGreaterThan(0);
    expect(both.stdout).not.toMatch(ESCAPE);
  });

  test.each([...coloured, 'memory', 'status', 'memory log', 'project', 'nosuch'])(
    'mend %s has none in a pipe',
    async (words) => {
      const { stdout, stderr } = await person.mend(words.split(' '), { env: { TERM: 'xterm-256color' } });
      expect(stdout + stderr).not.toMatch(ESCAPE);
    },
  );
});
