import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { programPath } from '../support/program.js';
import { isRoot } from '../support/users.js';
import { examined, expectAmong, expectFault, faults, findingsOf } from './doctor.js';
import { memoryFolder, Person } from './person.js';

let person: Person;

beforeEach(async () => {
  person = await Person.make();
});

afterEach(async () => {
  await person.remove();
});

describe('a healthy machine', () => {
  test('before anything is mounted, and with a mount', async () => {
    const before = person.snapshot();
    const first = await examined(person);
    expect(faults(first)).toEqual([]);
    expect(person.snapshot()).toEqual(before);

    await person.done('mount');
    await person.shell('printf -- "- [Tests](tests.md)\\n" > "$M/MEMORY.md"; echo x > "$M/tests.md"');
    const findings = await examined(person);
    expect(faults(findings)).toEqual([]);
    const checks = findings.map(({ check }) => check);
    expect(new Set(checks).size).toBe(checks.length);
    for (const { check } of first) expect(checks).toContain(check);

    const text = await person.done('doctor');
    expect(text).toMatch(/\n\nall is well\n$/);
    const lines = text.split('\n');
    for (const { check } of findings)
      expect(lines.filter((line) => line.startsWith(`ok       ${check} `))).toHaveLength(1);
    const { message = '' } = findings.find(({ check }) => check === 'node') ?? {};
    expect(lines.filter((line) => line.endsWith(`  ${message}`))).toHaveLength(1);
  });

  test('is not changed by being looked at', async () => {
    await person.shell('mkdir -p "$M"; echo x > "$M/a.md"');
    await person.done('mount');
    await person.rest();
    const before = person.snapshot();
    expect((await person.mend(['doctor'])).stdout).toContain('unmounted');
    expect(person.snapshot()).toEqual(before);
  });
});

test('faults are lines that say what to do, and end with their number', async () => {
  await person.shell('mkdir -p "$M"; echo x > "$M/a.md"');
  const { code, stdout, stderr } = await person.mend(['doctor'], {
    env: { XDG_DATA_HOME: 'x', CLAUDE_CONFIG_DIR: '/nosuch' },
  });
  expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
  expect(stdout).toMatch(
    /\nwarning {2}variables +XDG_DATA_HOME is x, a relative path: it is ignored: give the whole path\n/,
  );
  expect(stdout).toMatch(
    /\nwarning {2}variables +CLAUDE_CONFIG_DIR is \/nosuch, and there is no such folder: make it, or correct the variable\n/,
  );
  expect(stdout).toMatch(/\n\n2 warnings\n$/);
});

describe('the environment', () => {
  test.each([
    ['no HOME', '', /^problem home: HOME is not set: set it/],
    ['a relative HOME', 'x', /^problem home: HOME is x, a relative path: set it/],
    ['a HOME that is missing', '/nosuch/home', /^problem home: HOME is \/nosuch\/home, which is not there: set it/],
  ])('%s', async (_, home, fault) => {
    expectAmong(await examined(person, { env: { HOME: home } }), fault);
  });

  test.runIf(isRoot)('the HOME of somebody else', async () => {
    expectAmong(
      await examined(person, { env: { HOME: '/root' } }),
      /^problem home: HOME is \/root, which belongs to user 0: set it/,
    );
  });

  test('a relative MEND_STORE_DIR', async () => {
    const findings = await examined(person, { env: { MEND_STORE_DIR: 'x' } });
    expectAmong(
      findings,
      /^problem variables: MEND_STORE_DIR is x, a relative path: mend refuses it: give the whole path/,
    );
    expectAmong(findings, /^problem store-files: there is no folder for the store: correct MEND_STORE_DIR/);
  });

  test('a CLAUDE_CONFIG_DIR other than that of the mount', async () => {
    await person.done('mount');
    mkdirSync(join(person.user.home, 'other'), { mode: 0o755 });
    const findings = await examined(person, { env: { CLAUDE_CONFIG_DIR: join(person.user.home, 'other') } });
    expectAmong(
      findings,
      /^warning places: the memory of project "garden" is mounted on \S+\/\.claude\/\S+, but an agent started here would use \S+\/other\/projects\/\S+: start agents with/,
    );
  });

  test.each([
    [
      'is gone',
      'mkdir gone; cd gone; rmdir ../gone',
      /^problem repository: the folder you are in is gone: change to a checkout/,
    ],
    [
      'lies in a mount',
      'cd "$M"',
      /^problem repository: you are in a mounted memory folder: run "mend doctor" in a checkout/,
    ],
  ])('a folder that %s', async (_, way, fault) => {
    await person.done('mount');
    const command = [
      'sh',
      '-euc',
      `${way}; exec "$@"`,
      'sh',
      process.execPath,
      programPath(),
      'doctor',
      '--json',
    ] as const;
    expectFault(findingsOf(await person.user.run(command, { env: { M: person.memory } })), fault);
  });
});

describe('settings', () => {
  const settings = (text: string): Promise<string> =>
    person.shell(`mkdir -p .config/mend; umask 077; printf '%s' '${text}' > .config/mend/config.yaml`);

  test.each([
    [
      'that are not YAML',
      'limits: [',
      /^problem settings: the settings cannot be used: \S+config\.yaml is not valid YAML \(line 1\)/,
    ],
    ['with an unknown key', 'colour: red', /^problem settings: [^\n]*there is no setting "colour"/],
    [
      'with a value that cannot be',
      'limits: { files: 0 }',
      /^problem settings: [^\n]*"limits\.files" must be a whole number/,
    ],
  ])('%s', async (_, text, fault) => {
    await settings(text);
    expectFault(await examined(person), fault);
  });

  test('that others may write', async () => {
    await settings('limits: { files: 10 }');
    expect(faults(await examined(person))).toEqual([]);
    await person.shell('chmod 620 .config/mend/config.yaml');
    expectFault(
      await examined(person),
      /^warning settings: others may write \S+config\.yaml and change your settings: run "chmod go-w /,
    );
    await person.shell('chmod 600 .config/mend/config.yaml; chmod 777 .config/mend');
    expectFault(await examined(person), /^warning settings: others may write \S+\/mend and change/);
  });

  test.runIf(isRoot)('of somebody else', async () => {
    await settings('limits: { files: 10 }');
    await person.shell('chmod 644 .config/mend/config.yaml');
    chownSync(join(person.user.home, '.config/mend/config.yaml'), 12_345, 12_345);
    expectFault(await examined(person), /^warning settings: \S+config\.yaml belongs to user 12345/);
  });
});

describe('a memory folder', () => {
  test('that is a symbolic link', async () => {
    await person.shell('mkdir -p real "$(dirname "$M")"; ln -s ~/real "$M"');
    expectFault(
      await examined(person),
      /^problem memory-folders: the memory folder \S+ is a symbolic link: Claude Code reads and writes nothing through it: put a folder in its place/,
    );
  });

  test('that is a file', async () => {
    await person.shell('mkdir -p "$(dirname "$M")"; touch "$M"');
    expectFault(await examined(person), /^problem memory-folders: the memory folder \S+ is not a folder: move it away/);
  });

  test.runIf(isRoot)('of somebody else', async () => {
    await person.shell('mkdir -p "$M"');
    chownSync(person.memory, 0, 0);
    expectFault(
      await examined(person),
      /^problem memory-folders: the memory folder \S+ belongs to user 0: make it yours/,
    );
  });

  test('with memory that is not mounted', async () => {
    await person.shell('mkdir -p "$M"; echo x > "$M/a.md"');
    expectFault(
      await examined(person),
      /^warning unmounted: this repository has memory that is not mounted \(Claude Code, 1 file in \S+\): run "mend mount" here/,
    );
    await person.done('mount');
    expect(faults(await examined(person))).toEqual([]);
    await person.rest();
    expectFault(await examined(person), /^warning unmounted: [^\n]*\(Claude Code, 1 file\)/);
  });

  test('with files that would be left out', async () => {
    await person.shell('mkdir -p "$M"; cd "$M"; ln -s /etc/passwd link.md; mkfifo pipe; truncate -s 1048577 big.md');
    const findings = await examined(person);
    expectAmong(
      findings,
      /skipped: \S+link\.md is not taken in: it is a symbolic link: put what it leads to in its place/,
    );
    expectAmong(findings, /skipped: \S+pipe is not taken in: it is not a regular file: move it away$/);
    expectAmong(findings, /skipped: \S+big\.md is not taken in: it is larger than 1048576 bytes: split it, or raise/);
  });

  test('with what cannot be read, which the hint opens', async () => {
    await person.shell(`mkdir -p "$M/sub"; cd "$M"; echo x > "it's.md"; echo x > sub/b.md; chmod 0 "it's.md" sub`);
    const findings = (await examined(person)).filter(({ check }) => check === 'skipped');
    expect(findings.map(({ status, message }) => `${status} ${message.replace(/^.*\/memory\//, '')}`).sort()).toEqual([
      'warning it\'s.md" is not taken in: it cannot be read (EACCES)',
      'warning sub is not taken in: it cannot be read (EACCES)',
    ]);
    for (const { hint } of findings)
      await person.shell(/^make it readable for you: (chmod .*)$/.exec(hint ?? '')?.[1] ?? '');
    expect((await examined(person)).filter(({ check }) => check === 'skipped')).toMatchObject([{ status: 'ok' }]);
    await person.shell('chmod 0 "$M"');
    expectAmong(await examined(person), /skipped: \S+\/memory is not taken in: it cannot be read \(EACCES\): make it/);
    await person.shell('chmod 700 "$M"');
  });

  test('with a temporary file of a write-back that was killed', async () => {
    await person.shell('mkdir -p "$M/sub"; echo x > "$M/sub/.mend.tmp.4194999.18c"');
    expectFault(
      await examined(person),
      /^warning temporary-files: \S+\/sub\/\.mend\.tmp\.4194999\.18c was left by a mend that was killed: delete it: rm /,
    );
  });

  test('that is that of another project, too', async () => {
    const [other, twin] = [join(person.user.home, 'gar/den'), join(person.user.home, 'gar-den')];
    await person.shell(`git init -q "${other}"; git init -q "${twin}"`);
    expect(memoryFolder(person.user.home, other)).toBe(memoryFolder(person.user.home, twin));
    expect(await person.mend(['mount'], { cwd: other })).toMatchObject({ code: 0, stderr: '' });
    expect(faults(await examined(person, { cwd: other }))).toEqual([]);
    await person.shell(
      'echo x > "$HOME/.claude/projects/$(basename "$(dirname "$M")" | sed s/garden/gar-den/)/memory/a.md"',
    );
    // Nor is it advised to mount what would be refused.
    expectFault(
      await examined(person, { cwd: twin }),
      /^problem shared-folders: the memory folder \S+ of \S+\/gar-den is that of \S+\/gar\/den, too, which belongs to project "den"[^\n]*: run "mend project link /,
    );
  });
});

describe('projects', () => {
  const git = (...args: string[]): Promise<unknown> => person.user.run(['git', '-C', person.repository, ...args]);

  test('whose path and remote disagree', async () => {
    await person.shell('git init -q other; git -C other remote add origin https://example.org/a/other.git');
    await person.done('mount');
    expect(await person.mend(['mount'], { cwd: join(person.user.home, 'other') })).toMatchObject({ code: 0 });
    expect(faults(await examined(person))).toEqual([]);
    await person.shell('echo x > "$M/a.md"');
    await person.rest();
    await git('remote', 'add', 'origin', 'https://example.org/a/other.git');
    // Nor is it advised to mount what would be refused.
    const wanted = /^problem identity: [^\n]*"mend project (link|new)/;
    expectFault(await examined(person), wanted);
    // From elsewhere, too.
    const findings = await examined(person, { cwd: join(person.user.home, 'other') });
    expectFault(findings, /^problem identity: in \S+\/garden: [^\n]*"mend project (link|new)/);
  });

  test('whose checkouts are gone', async () => {
    await person.done('mount');
    await person.shell('echo x > "$M/a.md"');
    await person.rest();
    await person.shell('mv garden elsewhere');
    expectFault(
      await examined(person, { cwd: person.user.home }),
      /^warning checkouts: project "garden" has no checkout on this machine any more \(\S+\/garden\): run "mend mount" where it is now, or "mend project forget garden"/,
    );
    const renaming = ['project', 'rename', 'garden', "my 'garden'"];
    expect(await person.mend(renaming, { cwd: person.user.home })).toMatchObject({ code: 0, stderr: '' });
    expectFault(
      await examined(person, { cwd: person.user.home }),
      /or "mend project forget 'my '\\''garden'\\'''" when/,
    );
  });

  test('that Git cannot read', async () => {
    writeFileSync(join(person.repository, '.git/config'), '[core\n');
    expectFault(
      await examined(person),
      /^problem repository: Git cannot read the repository of [^\n]*: repair it and try again/,
    );
  });
});

test.runIf(isRoot)('root in the home of a user, as sudo leaves it', () => {
  const store = mkdtempSync(join(inject('runFolder'), 'root-store-'));
  const { status, stdout, stderr } = spawnSync(process.execPath, [programPath(), 'doctor', '--json'], {
    cwd: person.repository,
    env: { PATH: process.env['PATH'], HOME: person.user.home, MEND_STORE_DIR: store },
    encoding: 'utf8',
  });
  expectAmong(
    findingsOf({ code: status, signal: null, stdout, stderr }),
    /^problem home: you are root in the home of user \d+ \(\S+\): memory would be root's[^\n]*: run mend as that user, without sudo/,
  );
});
