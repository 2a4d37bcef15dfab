import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programPath } from '../support/program.js';
import type { RunResult } from '../support/users.js';
import { examined } from './doctor.js';
import { expectRefusal, memoryFolder, Person } from './person.js';

/** Names of a project and of files that a shell would take for something else; the last is how the one before is listed. */
const PROJECT = "it's a garden";
const NAMES = ['größe.md', "it's: b.md", '-odd.md', 'tab\there.md', '"tab\\there.md"'];
const SHOWN = String.raw`--project 'it'\\''s a garden'`;

let person: Person;
/** Another checkout, whose project has files of the same names and nothing amiss. */
let elsewhere: string;

beforeAll(async () => {
  person = await Person.make();
  elsewhere = join(person.user.home, 'elsewhere');
  await person.shell('git init --quiet elsewhere');
  for (const [folder, cwd] of [
    [person.memory, person.repository],
    [memoryFolder(person.user.home, elsewhere), elsewhere],
  ] as const) {
    await lay(folder, 'ours');
    expect(await person.mend(['memory', 'import'], { cwd })).toMatchObject({ code: 0 });
  }
  await person.done('project', 'rename', 'garden', PROJECT);
});

afterAll(async () => {
  await person.remove();
});

/** Lays every file, with bytes that cannot be merged. */
async function lay(folder: string, content: string): Promise<void> {
  const script = `mkdir -p "$1"; cd "$1"; content=$2; shift 2; for name; do printf '%s\\0' "$content" > "./$name"; done`;
  const laid = await person.user.run(['sh', '-euc', script, 'sh', folder, content, ...NAMES]);
  expect(laid).toMatchObject({ code: 0, stderr: '' });
}

/** Has another machine send what cannot be merged. */
async function conflicts(machine: string): Promise<void> {
  const from = join(person.user.home, machine);
  await lay(from, machine);
  expect(await person.mend(['memory', 'import', '--from', from, '--machine', machine])).toMatchObject({ code: 3 });
}

/** Runs a command as it is written, in a shell in the other checkout. */
function typed(command: string): Promise<RunResult> {
  const script = `mend() { "${process.execPath}" "${programPath()}" "$@"; }\n${command}`;
  return person.user.run(['sh', '-c', script], { cwd: elsewhere });
}

/** The pairs of commands that advice on a conflict names. */
function commandsIn(advice: readonly string[]): [see: string, run: string][] {
  return advice.flatMap((sentence) => {
    const [, see, run] = /see "(mend .*)", then run "(mend .*)" to take the other side/.exec(sentence) ?? [];
    return see === undefined || run === undefined ? [] : [[see, run]];
  });
}

const listed = async (): Promise<string[]> => {
  const { code, stderr } = await person.mend(['memory', '--project', PROJECT], { cwd: elsewhere });
  expect(code).toBe(0);
  return stderr.split('\n');
};
const hints = async (cwd: string): Promise<string[]> =>
  (await examined(person, { cwd })).filter(({ check }) => check === 'memory').map(({ hint }) => hint ?? '');

describe('commands that are advised act on the project that the advice is for', () => {
  test.each([
    ['memory --project', 'listing', listed],
    ['doctor', 'doctor', () => hints(elsewhere)],
  ] as const)('mend %s', async (_, machine, advice) => {
    await conflicts(machine);
    const before = await person.mend(['memory', 'log', '--json'], { cwd: elsewhere });
    const commands = commandsIn(await advice());
    expect(commands).toHaveLength(NAMES.length);
    for (const [see, run] of commands) {
      expect(await typed(see), see).toMatchObject({ code: 0, stderr: '' });
      expect(await typed(run), run).toMatchObject({ code: 0, stderr: '' });
    }
    expect(commandsIn(await listed())).toEqual([]);
    expect(await person.mend(['memory', 'log', '--json'], { cwd: elsewhere })).toEqual(before);
  });

  test('and leave the project out in its own checkout', async () => {
    await conflicts('own');
    expect(commandsIn(await hints(person.repository))).toHaveLength(NAMES.length);
    expect((await hints(person.repository)).join()).not.toContain('--project');
    expect((await person.mend(['memory'])).stderr).not.toContain('--project');
  });
});

describe('errors name the project in the command that helps', () => {
  test.each([
    [['show', 'nosuch.md'], 1, `: "mend memory ${SHOWN}" lists the files`],
    [['rm', 'nosuch.md'], 1, `: "mend memory ${SHOWN}" lists the files`],
    [['log', 'nosuch.md'], 1, `: "mend memory ${SHOWN}" lists the files`],
    [['purge', 'nosuch.md'], 1, `: "mend memory ${SHOWN}" lists the files`],
    [['show', 'größe.md', '--version', '99'], 1, `: "mend memory log ${SHOWN}" lists them`],
    [['show', 'größe.md', '--version', 'x'], 2, `: "mend memory log ${SHOWN}" lists them`],
    [['diff', 'größe.md', '99'], 1, `: "mend memory log ${SHOWN}" lists them`],
    [['restore', 'größe.md', '--version', '99'], 1, `: "mend memory log ${SHOWN}" lists them`],
    [['purge', 'größe.md', '--version', '99'], 1, `: "mend memory log ${SHOWN}" lists them`],
    [['show', '../x'], 2, `: give its name as "mend memory ${SHOWN}" lists it`],
  ] as [string[], number, string][])('memory %s', async (args, code, sentence) => {
    const result = await person.mend(['memory', '--project', PROJECT, ...args], { cwd: elsewhere });
    expectRefusal(result, code, new RegExp(`${sentence}\\n$`));
  });
});

describe('a name with control characters', () => {
  const show = (name: string): Promise<RunResult> => person.mend(['memory', 'show', name], { cwd: elsewhere });

  test('is taken as it is listed', async () => {
    const table = (await person.mend(['memory'], { cwd: elsewhere })).stdout;
    for (const shown of [String.raw`"tab\there.md"`, String.raw`"\"tab\\there.md\""`]) expect(table).toContain(shown);
    const folder = memoryFolder(person.user.home, elsewhere);
    await person.user.run([
      'sh',
      '-c',
      `printf tab > "$1/$2"; printf quoted > "$1/$3"`,
      'sh',
      folder,
      ...NAMES.slice(3),
    ]);
    expect(await person.mend(['memory', 'import'], { cwd: elsewhere })).toMatchObject({ code: 0 });
    expect(await show(String.raw`"tab\there.md"`)).toMatchObject({ code: 0, stdout: 'tab' });
    expect(await show(String.raw`"\"tab\\there.md\""`)).toMatchObject({ code: 0, stdout: 'quoted' });
  });

  test('as it is, is refused with how to write it', async () => {
    const sentence = /"tab\?here\.md" cannot be a memory file, written so: .* '("tab\\there\.md")'\n$/;
    const result = await show('tab\there.md');
    expectRefusal(result, 2, sentence);
    expect(await show(sentence.exec(result.stderr)?.[1] ?? '')).toMatchObject({ code: 0 });
  });

  test('whose quotes a shell took away is told of', async () => {
    expectRefusal(
      await show(String.raw`tab\there.md`),
      1,
      /'"tab\\there\.md"' is how a name is typed that is listed so\n$/,
    );
  });
});
