import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Machine } from '../support/machine.js';
import { isRoot, type RunResult, type TestUser } from '../support/users.js';
import { expectRefusal } from './person.js';

/** Leaves a mount that has lost its server, which root may not even look at (fuse(4)). */
const DEAD_MOUNT = `
import os, socket, subprocess, sys
ours, theirs = socket.socketpair()
environment = {**os.environ, "_FUSE_COMMFD": str(theirs.fileno())}
subprocess.run(["fusermount3", "--", sys.argv[1]], env=environment, pass_fds=[theirs.fileno()], check=True)`;
/** A number that no user has. */
const UNUSED = 4_000_002;

describe.runIf(isRoot)('what is wrong with one person keeps nobody else from mend admin (only root can run it)', () => {
  let machine: Machine;

  beforeAll(async () => {
    machine = await Machine.open(2);
    expect(await admin('enable', ...machine.people.map(({ name }) => name))).toMatchObject({ code: 0, stderr: '' });
  }, 150_000);

  afterAll(() => machine?.close(), 150_000);

  const admin = (...args: string[]): Promise<RunResult> => machine.mend(['admin', ...args]);
  const store = (user: TestUser): string => `/var/lib/mend/${user.uid}`;
  const mountOver = (user: TestUser, path: string) => machine.sh(user, 'python3 -c "$@"', DEAD_MOUNT, path);
  const takeOff = (user: TestUser, path: string) => user.run(['fusermount3', '-uz', '--', path]);

  test('a mount over the folder of a store', async () => {
    const [ann, bob] = [machine.person(0), machine.person(1)];
    await mountOver(ann, store(ann));
    try {
      const enabled = await admin('enable', ann.name, bob.name);
      expect(enabled).toMatchObject({ code: 3, stdout: expect.stringContaining(`already enabled ${bob.name}\n`) });
      expect(enabled.stderr).toBe(
        `mend: ${store(ann)} cannot be looked into (EACCES), as when something is mounted over it: take that off\n`,
      );
      const started = await admin('start');
      expect(started).toMatchObject({ code: 3, stdout: expect.stringContaining(bob.name) });
      expect(started.stderr).toBe(
        `mend: ${ann.name}: the store folder ${store(ann)} cannot be looked into (ENOTCONN): run "fusermount3 -uz ${store(ann)}"\n`,
      );
      expect(await admin('disable', ann.name)).toMatchObject({ code: 0 });
      const { code, stdout, stderr } = await admin('status');
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(bob.name) });
      expect(stderr).toContain(`mend: ${ann.name}: the store folder ${store(ann)} cannot be looked into (EACCES)`);
    } finally {
      await takeOff(ann, store(ann));
    }
    expect(await admin('enable', ann.name)).toMatchObject({ code: 0, stderr: '' });
  });

  test('a mount over a store', async () => {
    const [ann, bob] = [machine.person(0), machine.person(1)];
    const path = `${store(ann)}/store.db`;
    await machine.sh(ann, ': >"$1"', path);
    await mountOver(ann, path);
    try {
      const { code, stdout, stderr } = await admin('status');
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(bob.name) });
      expect(stderr).toContain(`mend: ${ann.name}: store.db cannot be looked into (EACCES)`);
    } finally {
      await takeOff(ann, path);
      await machine.sh(ann, 'rm "$1"', path);
    }
  });

  test('a record that is damaged', async () => {
    const [ann, bob] = [machine.person(0), machine.person(1)];
    const records = '/var/lib/mend/people';
    await machine.sh(machine.root, 'cd "$1"; printf "{" >"$2"; mkdir "$3"', records, `${ann.uid}`, `${UNUSED}`);
    const sentence = new RegExp(`^mend: ${records}/${ann.uid} cannot be read: remove it`, 'm');
    try {
      const started = await admin('start');
      expect(started).toMatchObject({ code: 3, stdout: `${bob.name}: there is nothing to mount yet\n` });
      expect(started.stderr).toMatch(sentence);
      const { code, stdout, stderr } = await admin('status');
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(new RegExp(`^${bob.name} +enabled`, 'm')),
      });
      expect(stderr).toContain(`mend: ${ann.name}: ${records}/${ann.uid} cannot be read: remove it`);
      expect(stderr).toContain(`${records}/${UNUSED} cannot be read: remove it`);
      expectRefusal(await admin('disable', ann.name), 1, sentence);
      expect(await admin('disable', bob.name)).toMatchObject({ code: 0, stderr: '' });
      const enabled = await admin('enable', ann.name, bob.name);
      expect(enabled).toMatchObject({ code: 3, stdout: expect.stringContaining(`enabled ${bob.name}\n`) });
      expect(enabled.stderr).toMatch(sentence);
    } finally {
      await machine.sh(machine.root, 'cd "$1"; rm -r "$2" "$3"', records, `${ann.uid}`, `${UNUSED}`);
    }
    await machine.sh(machine.root, 'mkdir "$1/.$2.new"', records, `${ann.uid}`);
    const ended = await admin('enable', ann.name, bob.name);
    await machine.sh(machine.root, 'rmdir "$1/.$2.new"', records, `${ann.uid}`);
    expect(ended).toMatchObject({ code: 3, stdout: expect.stringContaining(`already enabled ${bob.name}\n`) });
    expect(ended.stderr).toMatch(new RegExp(`^mend: user "${ann.name}" could not be served \\(\\w+\\): mend that`));
    expect(await admin('enable', ann.name)).toMatchObject({ code: 0, stderr: '' });
  });

  test('a home that is a link', async () => {
    const bob = machine.person(1);
    const home = `${bob.home}-link`;
    await machine.sh(machine.root, 'ln -s "$1" "$2"; usermod -d "$2" "$3"', bob.home, home, bob.name);
    await machine.sh(bob, 'git init -q "$HOME/garden"');
    const env = { HOME: home, MEND_SYSTEM_DIR: '/nowhere' };
    try {
      expect(await machine.mend(['mount'], bob, `${home}/garden`, env)).toMatchObject({ code: 0, stderr: '' });
      const { stdout, stderr } = await admin('status');
      expect(stdout).toMatch(
        new RegExp(`^${bob.name} .* process .* 1 +[\\d.]+ [KM]B +${home}/.local/share/mend/${bob.uid}$`, 'm'),
      );
      expect(stderr).not.toContain(home);
    } finally {
      await machine.mend(['unmount', '--all'], bob, '/', env);
      await machine.sh(machine.root, 'rm "$1"', home);
    }
  });

  test('a wrong MEND_SYSTEM_DIR is a wrong call', async () => {
    for (const args of [['enable', machine.person(0).name], ['start'], ['status']])
      expectRefusal(
        await machine.mend(['admin', ...args], machine.root, '/', { MEND_SYSTEM_DIR: 'here' }),
        2,
        /^mend: MEND_SYSTEM_DIR must be an absolute path/,
      );
  });
});
