import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programPath } from '../support/program.js';
import { expectRefusal, Person } from './person.js';

interface Listed {
  harness: string;
  file: string;
  bytes: number;
  modified: string;
  versions: number;
  notes: string[];
}

interface Version {
  file: string;
  version: number;
  kind: string;
  when: string;
  session: string | null;
  machine: string | null;
  bytes: number;
  sha256: string;
}

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const quotedName = 'two words/"q" 🌱 ñ.md';
let person: Person;

beforeAll(async () => {
  person = await Person.make('my garden');
  await person.shell(`mkdir -p "$M"; printf 'from before\\n' > "$M/before.md"`);
});

afterAll(async () => {
  await person.remove();
});

/** Columns of a table by its head; the last one runs to the end of the line. */
function parseTable(text: string): Record<string, string>[] {
  const [head = '', ...lines] = text.replace(/\n$/, '').split('\n');
  const titles = [...head.matchAll(/\S+(?: \S+)*/g)].map((match) => match[0]);
  return lines.map((line) =>
    Object.fromEntries(line.split(/ {2,}/).map((cell, i) => [titles[i] ?? `column ${i}`, cell])),
  );
}

test('adopt counts what lies in the folder', async () => {
  expect(await person.done('adopt')).toBe(
    `Claude Code keeps 1 memory file for this repository in ${person.memory}\n  "mend memory import" brings it into the store; "mend mount" does so, too, and mounts the folder\n`,
  );
  expect(await person.json('adopt')).toEqual([
    { harness: 'claude', folder: person.memory, files: 1, live: false, fault: null },
  ]);
});

test('mount takes in what lies there, and a second one changes nothing', async () => {
  expect(await person.done('mount')).toBe(`mounted ${person.memory}\ntook in 1 file that lay there\n`);
  expect(person.mounts()).toEqual([person.memory]);
  expect(await person.done('mount', '--harness', 'claude')).toBe(`already mounted ${person.memory}\n`);
  expect(await person.done('mount', person.repository)).toBe(`already mounted ${person.memory}\n`);
  expect(person.mounts()).toEqual([person.memory]);
  expect(await person.json('adopt')).toEqual([
    { harness: 'claude', folder: person.memory, files: 1, live: true, fault: null },
  ]);
  expect(await person.done('adopt')).toContain('live');
});

describe('with files of several kinds', () => {
  beforeAll(async () => {
    await person.shell(`mkdir "$M/two words"
      printf one > "$M/plain.md"; printf 'two\\n' > "$M/plain.md"; printf x > "$M/two words/\\"q\\" 🌱 ñ.md"
      printf left > "$M/.plain.md.swp"; printf left > "$M/plain.md.tmp.12.ab"`);
  });

  test('memory lists them aligned, odd names quoted', async () => {
    const text = await person.done('memory');
    expect(await person.done('memory', 'list')).toBe(text);
    const [head, ...lines] = text.trimEnd().split('\n');
    expect(lines.splice(3)).toEqual(['', '3 files, 17 bytes of 32 MB']);
    expect(head).toBe('harness  file                       bytes  modified          versions');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^claude {3}before\.md {21}12 {2}\d{4}-\d\d-\d\d \d\d:\d\d {9}1$/);
    expect(lines[1]).toMatch(/^claude {3}plain\.md {23}4 {2}\d{4}-\d\d-\d\d \d\d:\d\d {9}2$/);
    // The plant takes two columns of the terminal and two units of a string.
    expect(lines[2]).toMatch(/^claude {3}"two words\/\\"q\\" 🌱 ñ\.md" {6}1 {2}\d{4}-\d\d-\d\d \d\d:\d\d {9}1$/u);
  });

  test('memory --json', async () => {
    const listed = await person.json<Listed[]>('memory');
    expect(await person.json('memory', 'list')).toEqual(listed);
    expect(listed.map(({ modified, ...row }) => row)).toEqual([
      { harness: 'claude', file: 'before.md', bytes: 12, versions: 1, notes: [] },
      { harness: 'claude', file: 'plain.md', bytes: 4, versions: 2, notes: [] },
      { harness: 'claude', file: quotedName, bytes: 1, versions: 1, notes: [] },
    ]);
    for (const row of listed) {
      expect(Object.keys(row)).toEqual(['harness', 'file', 'bytes', 'modified', 'versions', 'notes']);
      expect(row.modified).toMatch(isoTime);
    }
    expect(await person.shell(`stat -c %Y "$M/plain.md"`)).toBe(
      `${Math.floor(Date.parse(listed[1]?.modified ?? '') / 1000)}\n`,
    );
  });

  test('memory show prints the bytes, of the head and of a version', async () => {
    expect(await person.done('memory', 'show', 'plain.md')).toBe('two\n');
    expect(await person.done('memory', 'show', 'claude:plain.md')).toBe('two\n');
    expect(await person.done('memory', 'show', quotedName)).toBe('x');
    expect(await person.done('memory', 'show', 'plain.md', '--version', '1')).toBe('one');
    expect(await person.done('memory', 'show', 'plain.md', '--version', '2')).toBe('two\n');
    await person.shell(String.raw`printf '\000\377\r\n' > "$M/binary"`);
    const { stdout } = await person.user.run(
      ['sh', '-c', `"$0" "$@" | od -An -tx1`, process.execPath, ...mendArgs('memory', 'show', 'binary')],
      {
        cwd: person.repository,
      },
    );
    expect(stdout.trim()).toBe('00 ff 0d 0a');
    await person.shell(`rm "$M/binary"`);
  });

  test.each([
    [['show', 'nosuch.md'], 1, /has no memory file nosuch\.md: "mend memory" lists the files/],
    [['show', 'two words'], 1, /has no memory file "two words"/],
    [['show', 'binary'], 1, /binary was removed/],
    [['show', '.plain.md.swp'], 1, /has no memory file/],
    [['show', 'plain.md', '--version', '3'], 1, /plain\.md has no version 3/],
    [['show', 'plain.md', '--version', '0'], 2, /0 is not the number of a version/],
    [['show', 'plain.md', '--version', '1.0'], 2, /is not the number of a version/],
    [['show', 'nosuch.md', '--version', '1'], 1, /has no memory file nosuch\.md/],
    [['log', 'nosuch.md'], 1, /has no versions of nosuch\.md/],
    [['rm', 'nosuch.md'], 1, /has no memory file nosuch\.md/],
    [['list', '--project', 'nosuch'], 1, /no project "nosuch": "mend project list" shows the names/],
  ] as [string[], number, RegExp][])('memory %s', async (args, code, sentence) => {
    expectRefusal(await person.mend(['memory', ...args]), code, sentence);
  });

  test('memory log tells the versions, newest first', async () => {
    const versions = await person.json<Version[]>('memory', 'log', 'plain.md');
    expect(versions.map(({ when, session, ...rest }) => rest)).toEqual([
      { file: 'plain.md', version: 2, kind: 'saved', machine: hostname(), bytes: 4, sha256: sha256('two\n') },
      { file: 'plain.md', version: 1, kind: 'saved', machine: hostname(), bytes: 3, sha256: sha256('one') },
    ]);
    for (const version of versions) {
      expect(Object.keys(version)).toEqual([
        'file',
        'version',
        'kind',
        'when',
        'session',
        'machine',
        'bytes',
        'sha256',
      ]);
      expect(version.when).toMatch(isoTime);
      expect(version.session).toMatch(/./);
    }
    const all = await person.json<Version[]>('memory', 'log');
    expect(all.filter(({ file }) => file === 'plain.md')).toEqual(versions);
    expect(all.find(({ file }) => file === 'before.md')).toMatchObject({ kind: 'imported', session: null });
    const rows = parseTable(await person.done('memory', 'log', 'plain.md'));
    expect(rows.map(({ file, kind }) => [file, kind])).toEqual([
      ['plain.md', 'saved'],
      ['plain.md', 'saved'],
    ]);
    expect(await person.done('memory', 'log')).toContain('"two words/\\"q\\" 🌱 ñ.md"');
    for (const options of [[], ['--json']])
      expectRefusal(
        await person.mend(['memory', 'log', 'nosuch.md', ...options]),
        1,
        /has no versions of nosuch\.md: "mend memory" lists the files/,
      );
  });

  test('status tells what is mounted', async () => {
    const status = await person.json<Record<string, unknown>>('status');
    expect(Object.keys(status)).toEqual(['version', 'pid', 'supervisor_pid', 'store', 'kernel', 'mounts', 'sessions']);
    expect(status).toMatchObject({
      pid: expect.any(Number),
      store: { path: join(person.store, 'store.db'), bytes: expect.any(Number) },
      kernel: { protocol: expect.stringMatching(/^7\.\d+$/), resend: expect.any(Boolean) },
      sessions: [],
    });
    expect(status['mounts']).toEqual([
      {
        path: person.memory,
        project: 'my garden',
        harness: 'claude',
        files: 3,
        bytes: 17,
        limit_files: 2000,
        limit_bytes: 33_554_432,
      },
    ]);
    expect(statSync(`/proc/${status['pid']}`).uid).toBe(person.user.uid);
    const text = await person.done('status');
    expect(text).toContain(`, process ${status['pid']}\n`);
    expect(text).toMatch(/^my garden {2}claude {3}3\/2000 {2}1\/32768 KB {2}\//m);
  });

  test('status names the sessions that have files open', async () => {
    const status = await person.user.run(
      ['sh', '-c', `exec 3>"$M/plain.md"; exec "$0" "$@"`, process.execPath, ...mendArgs('status', '--json')],
      {
        env: { M: person.memory },
      },
    );
    expect(JSON.parse(status.stdout)).toMatchObject({ sessions: [expect.stringMatching(/./)] });
    expect(await person.done('memory', 'show', 'plain.md')).toBe('');
    await person.shell(`printf 'two\\n' > "$M/plain.md"`);
  });

  test('status names a file that was refused over a limit', async () => {
    const { code } = await person.user.run(['sh', '-c', 'head -c 2000000 /dev/zero > "$M/huge.md"'], {
      env: { M: person.memory },
    });
    expect(code).not.toBe(0);
    const { stderr } = await person.mend(['status']);
    expect(stderr).toBe('mend: huge.md of project "my garden" was refused: it is over a limit\n');
    await person.shell(`rm -f "$M/huge.md"`);
  });

  test('project list', async () => {
    expect(await person.json('project', 'list')).toEqual([
      { name: 'my garden', files: 3, remotes: [], paths: [person.repository] },
    ]);
    expect(await person.json('project')).toEqual(await person.json('project', 'list'));
    expect(await person.done('project', 'list')).toBe(
      `project    files  remote  checkouts here\nmy garden      3  -       ${JSON.stringify(person.repository)}\n`,
    );
  });

  test('--project works from anywhere, before and after the command', async () => {
    const here = await person.done('memory');
    for (const cwd of ['/', '/tmp', person.user.home]) {
      for (const args of [
        ['memory', '--project', 'my garden'],
        ['memory', 'list', '--project', 'my garden'],
        ['memory', '--project', 'my garden', 'list'],
      ]) {
        expect(await person.mend(args, { cwd })).toMatchObject({ code: 0, stdout: here, stderr: '' });
      }
      expect(await person.mend(['memory', 'show', 'plain.md', '--project', 'my garden'], { cwd })).toMatchObject({
        code: 0,
        stdout: 'two\n',
      });
      expect(await person.mend(['mount', '--project', 'my garden'], { cwd })).toMatchObject({
        code: 0,
        stdout: `already mounted ${person.memory}\n`,
      });
    }
    expectRefusal(
      await person.mend(['memory'], { cwd: person.user.home }),
      1,
      /there is no memory of \S+ yet: run "mend mount" there, or name a project/,
    );
  });

  test('a sub-folder and a linked worktree mean the same project', async () => {
    await person.shell(`cd "${person.repository}"; mkdir -p deep/er
      git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m first; git worktree add -q ../shed -b shed`);
    const here = await person.json('memory');
    for (const cwd of [join(person.repository, 'deep/er'), join(person.user.home, 'shed')]) {
      expect(JSON.parse((await person.mend(['memory', '--json'], { cwd })).stdout)).toEqual(here);
    }
  });

  test('a name with what a terminal would obey is listed harmlessly', async () => {
    await person.shell(String.raw`printf x > "$M/$(printf 'a\033[31m\302\233b\342\200\256c')"`);
    const text = await person.done('memory');
    expect(text).toContain(String.raw`"a\u001b[31m\u009bb\u202ec"`);
    await person.shell(String.raw`rm "$M/$(printf 'a\033[31m\302\233b\342\200\256c')"`);
  });

  test('rm of several files, one of which is missing, removes none', async () => {
    const before = [await person.json('memory'), await person.json('memory', 'log')];
    expectRefusal(
      await person.mend(['memory', 'rm', 'plain.md', 'nosuch.md', 'before.md']),
      1,
      /has no memory file nosuch\.md/,
    );
    expectRefusal(await person.mend(['memory', 'rm', 'plain.md', '../x']), 2, /cannot be a memory file/);
    expect([await person.json('memory'), await person.json('memory', 'log')]).toEqual(before);
    expect(await person.shell(`cat "$M/plain.md"`)).toBe('two\n');
  });

  test('rm has taken effect in the mount when it returns, and what was there is a version', async () => {
    expect(await person.done('memory', 'rm', 'plain.md', 'claude:plain.md', quotedName)).toBe(
      'removed plain.md\nremoved "two words/\\"q\\" 🌱 ñ.md"\n',
    );
    expect(await person.shell(`ls -A "$M" "$M/two words"`)).not.toMatch(/^plain\.md$|🌱/mu);
    expectRefusal(await person.mend(['memory', 'rm', 'plain.md']), 1, /plain\.md was removed from project "my garden"/);
    const [newest] = await person.json<Version[]>('memory', 'log', 'plain.md');
    expect(newest).toMatchObject({ kind: 'removed', session: 'mend memory rm', sha256: sha256('two\n') });
    expect(await person.done('memory', 'show', 'plain.md', '--version', String(newest?.version))).toBe('two\n');
  });
});

describe('the output of a command', () => {
  test('a reader that has seen enough is no error', async () => {
    await person.shell(`seq 150000 > "$M/long.md"`);
    const args = mendArgs('memory', 'show', 'long.md');
    const result = await person.user.run(
      ['bash', '-o', 'pipefail', '-c', '"$0" "$@" | head -n 1', process.execPath, ...args],
      { cwd: person.repository },
    );
    expect(result).toMatchObject({ code: 0, stdout: '1\n', stderr: '' });
  });

  test('that cannot be written is one sentence', async () => {
    for (const command of [['memory', 'show', 'long.md'], ['memory'], ['project', 'list', '--json']]) {
      const args = mendArgs(...command);
      const result = await person.user.run(['sh', '-c', '"$0" "$@" > /dev/full', process.execPath, ...args], {
        cwd: person.repository,
      });
      expect(result.code).toBe(1);
      expect(result.stderr).toMatch(/^mend: the output could not be written: ENOSPC[^\n]*\n$/);
    }
  });

  test.each([
    ['NO_COLOR', '1'],
    ['FORCE_COLOR', '0'],
    ['TERM', 'dumb'],
  ])('has no colours on a terminal with %s=%s', async (name, value) => {
    for (const command of ['memory', 'status', 'nosuch', '--help']) {
      const line = [process.execPath, ...mendArgs(command)].join(' ');
      const { stdout } = await person.user.run(['script', '-qec', line, '/dev/null'], {
        cwd: person.repository,
        env: { [name]: value },
      });
      expect(stdout).toMatch(/\w/);
      expect(stdout).not.toContain('\u001b');
    }
  });
});

test('unmount writes back, and a second one says that nothing is mounted', async () => {
  expect(await person.done('unmount')).toBe(`unmounted ${person.memory}\n`);
  expect(person.mounts()).toEqual([]);
  expect((await person.shell(`ls -A "$M"; cat "$M/before.md"`)).split('\n')).toEqual([
    'before.md',
    'long.md',
    'from before',
    '',
  ]);
  expectRefusal(await person.mend(['unmount']), 1, /nothing is mounted for this project here/);
  expect(await person.done('unmount', '--all')).toBe('nothing is mounted\n');
  expect(await person.json('status')).toMatchObject({ pid: null, mounts: [] });
  expect((await person.json<Listed[]>('memory')).map(({ file }) => file)).toEqual(['before.md', 'long.md']);
});

test('what a mount cannot take in is named, with status 3', async () => {
  await person.shell(
    `ln -s before.md "$M/link.md"; head -c 2000000 /dev/zero > "$M/huge.md"; printf newer > "$M/before.md"`,
  );
  const { code, stdout, stderr } = await person.mend(['mount']);
  expect({ code, stdout }).toEqual({ code: 3, stdout: `mounted ${person.memory}\ntook in 1 file that lay there\n` });
  expect(stderr.split('\n').sort()).toEqual([
    '',
    'mend: left out huge.md: it is larger than 1048576 bytes',
    'mend: left out link.md: it is a symbolic link',
  ]);
  expect(await person.done('memory', 'show', 'before.md')).toBe('newer');
  await person.done('unmount', '--all');
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The arguments of Node.js that run a command of mend. */
function mendArgs(...args: string[]): string[] {
  return [programPath(), ...args];
}
