import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { programFolder } from '../support/program.js';
import { isRoot } from '../support/users.js';
import { examined, expectAmong, expectFault, faults } from './doctor.js';
import { Person, until } from './person.js';

let person: Person;

beforeEach(async () => {
  person = await Person.make();
});

afterEach(async () => {
  await person.remove();
});

describe('a daemon', () => {
  test('that was killed leaves a mount that is dead', async () => {
    await person.done('mount');
    for (const pid of person.processes()) process.kill(pid, 'SIGKILL');
    await until(() => person.processes().length === 0);
    expectFault(
      await examined(person),
      /^problem mounts: \S+\/memory has lost the daemon that served it: run "mend unmount \S+\/memory", or "mend mount" in its checkout$/,
    );
    await person.done('unmount');
    expect(faults(await examined(person))).toEqual([]);
  });

  test('that does not answer is named, and keeps the doctor from nothing', async () => {
    await person.done('mount');
    const daemons = person.processes();
    for (const pid of daemons) process.kill(pid, 'SIGSTOP');
    try {
      expectFault(await examined(person), /^problem daemon: the daemon does not answer: look at daemon\.log/);
    } finally {
      for (const pid of daemons) process.kill(pid, 'SIGCONT');
    }
    expect(faults(await examined(person))).toEqual([]);
  });

  test('of another version', async () => {
    const other = otherProgram();
    const { version } = JSON.parse(readFileSync(join(other, 'package.json'), 'utf8')) as { version: string };
    writeFileSync(
      join(other, 'package.json'),
      readFileSync(join(other, 'package.json'), 'utf8').replace(version, '9.9.9'),
    );
    const mounted = await person.user.run([process.execPath, join(other, 'dist/main.js'), 'mount'], {
      cwd: person.repository,
    });
    expect(mounted).toMatchObject({ code: 0, stderr: '' });
    expectFault(
      await examined(person),
      new RegExp(
        `^warning daemon: the daemon, process \\d+, is of version 9\\.9\\.9, and this command of ${version}: run "mend unmount --all"`,
      ),
    );
  });
});

test.runIf(isRoot)('a mount that is hidden by another one', async () => {
  await person.done('mount');
  const over = join(person.user.home, '.claude');
  const { uid, gid } = person.user;
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=1m,mode=700,uid=${uid},gid=${gid}`, 'mend-over', over]);
  try {
    expectAmong(
      await examined(person),
      /^problem mounts: the mount on \S+\/memory is hidden by another one \(tmpfs on \S+\/\.claude\): agents use the folder on top: take that one off: umount \S+\/\.claude$/,
    );
  } finally {
    execFileSync('umount', ['--lazy', over]);
  }
  expect(faults(await examined(person))).toEqual([]);
});

test('a file that was refused', async () => {
  await person.done('mount');
  const refused = await person.user.run(['sh', '-c', 'head -c 1100000 /dev/zero > "$M/big.md"'], {
    env: { M: person.memory },
  });
  expect(refused.code).not.toBe(0);
  expectAmong(
    await examined(person),
    /^warning refused: big\.md of project "garden" was refused: it is over a limit: remove or shorten files, or raise "limits"/,
  );
});

describe('what is in the memory', () => {
  const settings =
    'mkdir -p .config/mend; printf "limits: { files: 10, bytes: 30000, file_bytes: 10000 }" > .config/mend/config.yaml; chmod 600 .config/mend/config.yaml; ';

  test('is near the limits', async () => {
    await person.shell(
      `${settings} mkdir -p "$M"; cd "$M"; for i in 1 2 3 4 5 6 7 8 9; do head -c 100 /dev/zero | tr '\\0' x > $i.md; done`,
    );
    await person.done('mount');
    expectAmong(
      await examined(person),
      /^warning limits: project "garden" has 9 of 10 files that it may have: remove what is not needed/,
    );
    await person.shell('cd "$M"; rm *.md; for i in 1 2 3; do head -c 9500 /dev/zero | tr "\\0" x > $i.md; done');
    const findings = await examined(person);
    expectAmong(findings, /^warning limits: project "garden" has 28 KB of 30 KB that it may have/);
    expectAmong(
      findings,
      /^warning limits: 1\.md of project "garden" has 10 KB of 10 KB that a file may have: split it/,
    );
  });

  test('is an index that misleads, a likely secret, and a save that was cut short', async () => {
    const token = ['ghp', '_', '1234567890abcdefghijklmnopqrstuvwxyz'].join('');
    await person.done('mount');
    await person.shell(`cd "$M"; echo '- [Gone](gone.md)' > MEMORY.md; printf 'the token is %s\\n' ${token} > keys.md`);
    await person.user.run(['sh', '-c', 'exec > "$M/cut.md"; echo x; kill -9 $$'], { env: { M: person.memory } });
    const findings = await examined(person);
    expectAmong(findings, /^warning memory: project "garden": MEMORY\.md links to gone\.md/);
    expectAmong(findings, /^warning memory: project "garden": keys\.md \(line 1, [^)]*\) may hold a secret/);
    expectAmong(
      findings,
      /^warning interrupted: cut\.md of project "garden" has 1 interrupted save: see "mend memory log cut\.md", restore what you need, and then drop it: "mend memory purge cut\.md --version \d+"$/,
    );
    expect(JSON.stringify(findings)).not.toContain(token);
  });

  test('is a conflict that waits', async () => {
    await person.done('mount');
    // Each of two sessions has read the file, and saves bytes that are no text.
    await person.shell(`
      printf 'a\\0b' > "$M/bytes"
      cat "$M/bytes" > /dev/null
      setsid --wait sh -c 'cat "$0" > /dev/null; printf "a\\0c" > "$0"' "$M/bytes"
      printf 'a\\0d' > "$M/bytes"`);
    const findings = await examined(person);
    expectAmong(findings, /^warning memory: project "garden": bytes has a conflict that waits: see "mend memory diff/);
  });
});

/** A copy of the program that may be changed. */
function otherProgram(): string {
  const copy = mkdtempSync(join(inject('runFolder'), 'other-'));
  execFileSync('chmod', ['755', copy]);
  for (const part of ['dist', 'package.json', 'native/build/Release']) {
    mkdirSync(join(copy, part, '..'), { recursive: true });
    cpSync(join(programFolder(), part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(programFolder(), 'node_modules'), join(copy, 'node_modules'));
  return copy;
}
