import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listProcesses } from '../support/processes.js';
import { programPath } from '../support/program.js';
import { expectRefusal, memoryFolder, Person, until } from './person.js';

interface Status {
  pid: number | null;
  supervisor_pid: number | null;
  mounts: { path: string; project: string }[];
}

let person: Person;

beforeEach(async () => {
  person = await Person.make();
});

afterEach(async () => {
  await person.remove();
});

const isRunning = (pid: number): boolean => listProcesses().some((entry) => entry.pid === pid && !entry.zombie);

describe('mount --foreground', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'stays, and ends on %s with the mount off and the memory written back',
    async (signal) => {
      const running = person.user.spawn([process.execPath, programPath(), 'mount', '--foreground'], {
        cwd: person.repository,
      });
      let said = '';
      running.stdout?.on('data', (chunk: Buffer) => {
        said += String(chunk);
      });
      await until(() => said.includes('mounted'));
      expect(said).toBe(`mounted ${person.memory}\n`);
      const status = await person.json<Status>('status');
      expect(status).toMatchObject({ supervisor_pid: running.pid, mounts: [{ path: person.memory }] });
      expect(await person.done('mount')).toBe(`already mounted ${person.memory}\n`);
      expectRefusal(await person.mend(['mount', '--foreground']), 1, /a daemon serves this store already/);
      await person.shell(`printf kept > "$M/a.md"`);
      expect(running.exitCode).toBeNull();
      running.kill(signal);
      expect(await once(running, 'exit')).toEqual([0, null]);
      expect(person.mounts()).toEqual([]);
      expect(await person.shell(`cat "$M/a.md"`)).toBe('kept');
    },
  );

  test('ends when its mount is taken off', async () => {
    const running = person.user.spawn([process.execPath, programPath(), 'mount', '--foreground'], {
      cwd: person.repository,
    });
    await until(() => person.mounts().length > 0);
    const ended = once(running, 'exit');
    expect(await person.done('unmount')).toBe(`unmounted ${person.memory}\n`);
    expect(await ended).toEqual([0, null]);
  });

  test('ends at once when nothing could be mounted', async () => {
    await person.shell(`mkdir -p "$(dirname "$M")"; touch "$M"`);
    expectRefusal(await person.mend(['mount', '--foreground']), 1, /is not a folder/);
  });
});

describe('several projects', () => {
  const other = (): string => join(person.user.home, 'orchard');

  beforeEach(async () => {
    await person.shell('git init -q orchard');
    await person.done('mount');
    expect(await person.mend(['mount', other()], { cwd: '/' })).toMatchObject({ code: 0, stderr: '' });
  });

  test('are served by one daemon, and go one by one', async () => {
    const both = [person.memory, memoryFolder(person.user.home, other())];
    expect(person.mounts().sort()).toEqual(both.sort());
    expect(person.daemons()).toHaveLength(1);
    const { mounts } = await person.json<Status>('status');
    expect(mounts.map(({ project }) => project).sort()).toEqual(['garden', 'orchard']);
    expect(await person.done('unmount', other())).toBe(`unmounted ${memoryFolder(person.user.home, other())}\n`);
    expect(await person.mend(['unmount', person.memory], { cwd: '/' })).toMatchObject({
      code: 0,
      stdout: `unmounted ${person.memory}\n`,
    });
    expect(person.mounts()).toEqual([]);
    await until(() => person.daemons().length === 0);
  });

  test('unmount --all takes all off, mount --all puts all up again', async () => {
    expect((await person.done('unmount', '--all')).split('\n')).toHaveLength(3);
    expect(person.mounts()).toEqual([]);
    const { code, stdout } = await person.mend(['mount', '--all'], { cwd: '/' });
    expect({ code, lines: stdout.split('\n').length }).toEqual({ code: 0, lines: 3 });
    expect(person.mounts()).toHaveLength(2);
    expect(await person.done('mount', '--all')).toMatch(/^already mounted .*\nalready mounted .*\n$/);
  });

  test('mount --all names what it cannot mount, with status 3', async () => {
    await person.done('unmount', '--all');
    await person.shell(`rm -r orchard; rmdir "$M"; ln -s / "$M"`);
    const nothing = await person.mend(['mount', '--all']);
    expect(nothing).toMatchObject({ code: 1, stdout: '' });
    expect(nothing.stderr).toMatch(/left out \S+\/orchard of project "orchard"/);
    expect(nothing.stderr).toMatch(/cannot mount on \S+: it is a symbolic link/);
    await person.shell('rm "$M"');
    const left = await person.mend(['mount', '--all']);
    expect(left).toMatchObject({ code: 3, stdout: `mounted ${person.memory}\n` });
    expect(left.stderr).toMatch(/^mend: left out \S+\/orchard of project "orchard": [^\n]*\n$/);
    await person.done('unmount');
    await person.shell(`rm -r "$M"; ln -s / "$M"`);
    await person.shell('git init -q orchard');
    const one = await person.mend(['mount', '--all']);
    expect(one).toMatchObject({ code: 3, stdout: `mounted ${memoryFolder(person.user.home, other())}\n` });
    expect(one.stderr).toMatch(/^mend: cannot mount on \S+: it is a symbolic link[^\n]*\n$/);
  });

  test('unmount --all with one of them busy takes the other off, with status 3', async () => {
    const worker = person.user.spawn(['sh', '-c', 'cd "$M"; echo there; exec sleep 60'], { env: { M: person.memory } });
    await once(worker.stdout ?? worker, 'data');
    const { code, stdout, stderr } = await person.mend(['unmount', '--all']);
    expect({ code, stdout }).toEqual({ code: 3, stdout: `unmounted ${memoryFolder(person.user.home, other())}\n` });
    expect(stderr).toMatch(/^mend: cannot unmount \S+: files in it are open or a program works in it: [^\n]+\n$/);
    expect(person.mounts()).toEqual([person.memory]);
    worker.kill();
  });
});

describe('unmount while a program works in the mount', () => {
  test('is refused, with the program unharmed; --force takes it off and keeps what was not closed', async () => {
    await person.done('mount');
    await person.shell(`printf saved > "$M/a.md"`);
    const script = `const fs = require('fs'); fs.writeSync(fs.openSync(process.argv[1], 'w'), 'half'); console.log('open'); setInterval(() => {}, 1e6)`;
    const writer = person.user.spawn([process.execPath, '-e', script, `${person.memory}/a.md`]);
    await once(writer.stdout ?? writer, 'data');
    for (const args of [['unmount'], ['unmount', '--all']]) {
      expectRefusal(
        await person.mend(args),
        1,
        /cannot unmount \S+: files in it are open or a program works in it: end that program, or use --force/,
      );
      expect(person.mounts()).toEqual([person.memory]);
    }
    expect(await person.done('memory', 'show', 'a.md')).toBe('saved');
    expect(await person.done('unmount', '--force')).toBe(`unmounted ${person.memory}\n`);
    expect(person.mounts()).toEqual([]);
    writer.kill();
    expect(await person.shell(`cat "$M/a.md"`)).toBe('saved');
    expect(await person.json('memory', 'log', 'a.md')).toMatchObject([
      { kind: 'interrupted', bytes: 4 },
      { kind: 'saved', bytes: 5 },
    ]);
    const { stdout } = await person.mend(['memory', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([{ notes: ['1 interrupted save'] }]);
  });

  test('from within the folder, without a name, means that mount', async () => {
    await person.done('mount');
    const inside = (command: string) =>
      person.user.run(['sh', '-c', `cd "$M"; "$0" "$@" ${command}`, process.execPath, programPath()], {
        env: { M: person.memory },
      });
    expectRefusal(await inside('unmount'), 1, /a program works in it/);
    expect(await inside('unmount --force')).toMatchObject({ code: 0, stdout: `unmounted ${person.memory}\n` });
  });
});

test('two mounts at once start one daemon, ten times over', async () => {
  for (let round = 0; round < 10; round++) {
    const results = await Promise.all([person.mend(['mount']), person.mend(['mount'])]);
    for (const result of results) expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(results.map(({ stdout }) => stdout).sort()).toEqual([
      `already mounted ${person.memory}\n`,
      `mounted ${person.memory}\n`,
    ]);
    expect(person.mounts()).toEqual([person.memory]);
    // One that came too late may still be ending.
    await until(() => person.daemons().length === 1);
    expect(person.daemons()).toEqual([(await person.json<Status>('status')).supervisor_pid]);
    await person.done('unmount');
  }
});

test('a mount that follows an unmount at once succeeds, although that daemon is still ending', async () => {
  for (let round = 0; round < 10; round++) {
    expect(await person.done('mount')).toBe(`mounted ${person.memory}\n`);
    expect(await person.done('unmount', '--all')).toBe(`unmounted ${person.memory}\n`);
  }
  await until(() => person.daemons().length === 0);
});

describe('after the daemon was killed', () => {
  beforeEach(async () => {
    await person.done('mount');
    await person.shell(`printf safe > "$M/a.md"`);
    const { pid, supervisor_pid: supervisor } = await person.json<Status>('status');
    if (pid === null || supervisor === null) throw new Error('Nothing serves.');
    for (const victim of [supervisor, pid]) process.kill(victim, 'SIGKILL');
    await until(() => !isRunning(pid) && !isRunning(supervisor));
    expect(person.mounts()).toEqual([person.memory]);
  });

  test('status says so, and mount puts the mount up again', async () => {
    const status = await person.mend(['status', '--json']);
    expect(status).toMatchObject({
      code: 0,
      stderr: `mend: ${person.memory} has lost the daemon that served it: run "mend mount" or "mend unmount" for it\n`,
    });
    expect(JSON.parse(status.stdout)).toMatchObject({ pid: null, mounts: [] });
    expect(await person.done('mount')).toBe(`mounted ${person.memory}\n`);
    expect(person.mounts()).toEqual([person.memory]);
    expect(await person.shell(`cat "$M/a.md"`)).toBe('safe');
  });

  test('status of another store says nothing of it', async () => {
    const env = { MEND_STORE_DIR: join(person.user.home, 'other-store') };
    const status = () => person.mend(['status', '--json'], { env });
    expect(await status()).toMatchObject({ code: 0, stderr: '' });
    await person.shell('mkdir "$M/../../other"');
    const other = { env, cwd: join(person.memory, '../../other') };
    expect(await person.mend(['mount'], other)).toMatchObject({ code: 0, stderr: '' });
    expect(await person.mend(['unmount'], other)).toMatchObject({ code: 0, stderr: '' });
    expect(await status()).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([[[]], [['--all']]])('unmount %s takes the dead mount off, with the memory written back', async (args) => {
    expect(await person.done('unmount', ...args)).toBe(`unmounted ${person.memory}\n`);
    expect(person.mounts()).toEqual([]);
    expect(await person.shell(`cat "$M/a.md"`)).toBe('safe');
  });
});

test('status does not wait for a daemon that was stopped', async () => {
  await person.done('mount');
  const { pid } = await person.json<Status>('status');
  if (pid === null) throw new Error('Nothing serves.');
  process.kill(pid, 'SIGSTOP');
  try {
    expectRefusal(
      await person.mend(['status']),
      1,
      /the daemon of this store does not answer: "mend doctor" looks into/,
    );
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  expect((await person.json<Status>('status')).pid).toBe(pid);
});

test('a mount that was taken off without mend is written back, and its daemon ends', async () => {
  await person.done('mount');
  await person.shell(`printf kept > "$M/a.md"`);
  expect(await person.user.run(['fusermount3', '-u', person.memory])).toMatchObject({ code: 0 });
  await until(() => person.daemons().length === 0);
  expect(await person.shell(`cat "$M/a.md"`)).toBe('kept');
  expect(await person.json('status')).toMatchObject({ pid: null, mounts: [] });
});
