import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Machine } from '../support/machine.js';
import { programFolder } from '../support/program.js';
import type { RunResult, TestUser } from '../support/users.js';
import { isRoot } from '../support/users.js';
import { expectRefusal, Person, until } from './person.js';

interface Shown {
  readonly user: string;
  readonly enabled: boolean;
  readonly pid: number | null;
  readonly supervisor_pid: number | null;
  readonly mounts: readonly string[];
  readonly store: { readonly path: string; readonly bytes: number | null; readonly free: number | null };
  readonly faults: readonly string[];
}

/** A number that no user has. */
const UNUSED = 4_000_001;
/** Room for several people's programs, one after the other, on a busy machine. */
const LONG = 200_000;

const NOTE = `
  cd "$HOME"; git init -q garden; cd garden; "$@" mount >/dev/null
  cd "$HOME"/.claude/projects/*/memory; echo "of $(id -un)" >note.md`;
const SEEN = 'cat "$HOME"/.claude/projects/*/memory/note.md';

describe.runIf(isRoot)('mend admin (only root can run it)', () => {
  let machine: Machine;
  let program: readonly string[];

  beforeAll(async () => {
    machine = await Machine.open(4);
    program = machine.command;
  }, LONG);

  afterAll(() => machine?.close(), LONG);

  const admin = (...args: string[]): Promise<RunResult> => machine.mend(['admin', ...args]);
  /** In the machine, whose `/var/lib` is its own. */
  const look = (script: string, ...args: string[]): Promise<string> => machine.sh(machine.root, script, ...args);
  const shown = async (user: TestUser): Promise<Shown> => {
    const { stdout, stderr } = await admin('status', '--json');
    expect(stderr).toBe('');
    const all = JSON.parse(stdout) as Shown[];
    return all.find((one) => one.user === user.name) as Shown;
  };
  const store = (user: TestUser): string => `/var/lib/mend/${user.uid}`;

  test("enable makes a folder that is the person's alone, and says what is left to do; again it changes nothing", async () => {
    const [ann, bob] = [machine.person(0), machine.person(1)];
    expect(await admin('enable', ann.name, bob.name)).toMatchObject({
      code: 0,
      stderr: '',
      stdout: `enabled ${ann.name}\nenabled ${bob.name}\nhave this machine run "mend admin start" as root when it starts\n`,
    });
    const modes = (): Promise<string> =>
      look('cd /var/lib/mend; stat -c "%U %a %n" . people $1 $2', `${ann.uid}`, `${bob.uid}`);
    const expected = `root 755 .\nroot 755 people\n${ann.name} 700 ${ann.uid}\n${bob.name} 700 ${bob.uid}\n`;
    expect(await modes()).toBe(expected);
    await look('chmod 750 "$1"', store(ann));
    const again = await admin('enable', ann.name);
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(again.stdout).toContain(`already enabled ${ann.name}\n`);
    expect(await modes()).toBe(expected);
    expect(await look('ls -A /var/lib/mend | sort')).toBe(`${ann.uid}\n${bob.uid}\npeople\n`);
  });

  test('what they save is in that folder; start mounts it again for all, as themselves; disable leaves it', async () => {
    const [ann, bob] = [machine.person(0), machine.person(1)];
    expect(await admin('start')).toMatchObject({ code: 0, stderr: '' });
    for (const user of [ann, bob]) {
      await machine.sh(user, NOTE, ...program);
      await machine.sh(user, '"$@" unmount --all', ...program);
    }
    await until(async () => (await shown(ann)).pid === null && (await shown(bob)).pid === null);
    expect(await shown(ann)).toMatchObject({ enabled: true, mounts: [], faults: [], store: { path: store(ann) } });
    const started = await admin('start');
    expect(started).toMatchObject({ code: 0, stderr: '' });
    for (const user of [ann, bob]) {
      expect(started.stdout).toContain(`${user.name}: mounted ${user.home}/.claude/projects/`);
      expect(await machine.sh(user, SEEN)).toBe(`of ${user.name}\n`);
      const { pid, supervisor_pid, mounts, ...rest } = await shown(user);
      expect(rest).toMatchObject({ enabled: true, faults: [], store: { bytes: expect.any(Number) } });
      expect(mounts).toEqual([expect.stringMatching(`^${user.home}/\\.claude/projects/.*/memory$`)]);
      for (const process of [pid, supervisor_pid]) {
        const status = readFileSync(`/proc/${process}/status`, 'utf8');
        expect(status).toMatch(new RegExp(`^Uid:\\t${user.uid}\\t${user.uid}\\t${user.uid}\\t${user.uid}$`, 'm'));
        expect(status).toMatch(new RegExp(`^Gid:\\t${user.gid}\\t`, 'm'));
        expect(status).toMatch(new RegExp(`^Groups:\\t${user.gid} $`, 'm'));
        const names = readFileSync(`/proc/${process}/environ`, 'utf8')
          .split('\0')
          .map((one) => one.split('=')[0]);
        for (const name of names)
          expect(['HOME', 'USER', 'LOGNAME', 'PATH', 'LANG', 'MEND_STORE_DIR', '']).toContain(
            name?.replace(/^NODE_CHANNEL.*/, ''),
          );
      }
    }
    expect(await admin('disable', bob.name)).toMatchObject({ code: 0, stdout: `disabled ${bob.name}\n`, stderr: '' });
    expect(await machine.sh(bob, SEEN)).toBe(`of ${bob.name}\n`);
    const stopped = await admin('disable', '--stop', bob.name);
    expect(stopped).toMatchObject({ code: 0, stderr: '' });
    expect(stopped.stdout).toMatch(new RegExp(`^${bob.name}: unmounted .*\nalready disabled ${bob.name}\n$`));
    await until(async () => (await shown(bob)).pid === null);
    expect(await shown(bob)).toMatchObject({ enabled: false, mounts: [], store: { bytes: expect.any(Number) } });
    expect((await admin('start')).stdout).not.toContain(bob.name);
    expect(await machine.sh(bob, 'cd garden; "$@" memory show note.md', ...program)).toBe(`of ${bob.name}\n`);
  });

  test('memory that is in the home already stays in view, and can be moved', async () => {
    const cat = machine.person(2);
    await machine.sh(cat, NOTE, ...program);
    const { code, stdout, stderr } = await admin('enable', cat.name);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(
      `${cat.name} goes on with the store that is there, ${cat.home}/.local/share/mend/${cat.uid}/store.db\n`,
    );
    expect(await machine.sh(cat, SEEN)).toBe(`of ${cat.name}\n`);
    await machine.sh(cat, '"$@" unmount --all', ...program);
    expect((await admin('start')).stdout).toContain(`${cat.name}: mounted `);
    expect(await machine.sh(cat, `cd garden; "$@" memory show note.md`, ...program)).toBe(`of ${cat.name}\n`);
    const move = `"$@" unmount --all; "$@" store backup "$HOME/moved.db"
      MEND_STORE_DIR=/var/lib/mend/$(id -u) "$@" store restore "$HOME/moved.db"; "$@" mount --all`;
    await machine.sh(cat, move, ...program);
    expect(await machine.sh(cat, SEEN)).toBe(`of ${cat.name}\n`);
    expect((await shown(cat)).store).toMatchObject({ path: store(cat), bytes: expect.any(Number) });
    expect((await admin('enable', cat.name)).stdout).not.toContain('goes on with');
  });

  test('MEND_SYSTEM_DIR names another folder, also to whom it starts', async () => {
    const dan = machine.person(3);
    const env = { MEND_SYSTEM_DIR: '/var/lib/other' };
    const within = (...args: string[]): Promise<RunResult> => machine.mend(['admin', ...args], machine.root, '/', env);
    expect(await within('enable', dan.name)).toMatchObject({ code: 0, stderr: '' });
    await machine.sh(dan, `export MEND_SYSTEM_DIR=/var/lib/other; ${NOTE}; cd /; "$@" unmount --all`, ...program);
    expect((await within('start')).stdout).toContain(`${dan.name}: mounted `);
    const all = JSON.parse((await within('status', '--json')).stdout) as Shown[];
    expect(all.find(({ user }) => user === dan.name)).toMatchObject({
      faults: [],
      store: { path: `/var/lib/other/${dan.uid}`, bytes: expect.any(Number) },
    });
    expect(await within('disable', '--stop', dan.name)).toMatchObject({ code: 0, stderr: '' });
    expectRefusal(
      await machine.mend(['admin', 'status'], machine.root, '/', { MEND_SYSTEM_DIR: 'other' }),
      2,
      /absolute/,
    );
    expect(await look('ls -A /var/lib/mend/people')).not.toContain(`${dan.uid}`);
    await machine.sh(dan, 'rm -r garden .claude');
  });

  test('one that fails does not stop the others, and the status says so', async () => {
    const [ann, dan] = [machine.person(0), machine.person(3)];
    const some = await admin('enable', 'nosuchuser', dan.name);
    expect(some).toMatchObject({
      code: 3,
      stderr: 'mend: there is no user "nosuchuser": give the name of a user of this machine\n',
    });
    expect(some.stdout).toContain(`enabled ${dan.name}\n`);
    await machine.sh(dan, NOTE, ...program);
    await look('mv "$1" "$1.away"; ln -s "$2" "$1"', store(dan), store(ann));
    const started = await admin('start');
    await look('rm "$1"; mv "$1.away" "$1"', store(dan));
    expect(started.code).toBe(3);
    expect(started.stderr).toMatch(new RegExp(`^mend: ${dan.name}: the store folder ${store(dan)} is not a folder`));
    expect(started.stdout).toContain(`${ann.name}: already mounted `);
  });

  test.each([
    ['a user that there is not', ['nosuchuser'], /there is no user "nosuchuser"/],
    ['an option', ['--', '-x'], /there is no user "-x"/],
    ['root', ['root'], /"root" is root/],
  ])('%s is refused', async (_, names, sentence) => {
    for (const command of ['enable']) expectRefusal(await admin(command, ...names), 1, sentence);
  });

  test("links, and what is somebody else's, are refused, and stay as they are", async () => {
    const [ann, bob] = [machine.person(0), machine.person(1)];
    const cases: [path: string, make: string, sentence: RegExp][] = [
      [store(bob), 'ln -s "$2" "$1"', /is not a folder but something in its place/],
      [store(bob), 'ln -s /nowhere "$1"', /is not a folder but something in its place/],
      [store(bob), 'mkdir "$1"; chown "$3" "$1"', new RegExp(`belongs to user ${ann.uid}, not to "${bob.name}"`)],
      [store(bob), ': >"$1"', /is not a folder but something in its place/],
      ['/var/lib/mend', 'ln -s "$2" "$1"', /is not a folder but something in its place/],
      ['/var/lib/mend', 'mkdir "$1"; chown "$3" "$1"', new RegExp(`belongs to user ${ann.uid}, not to root`)],
      ['/var/lib/mend', 'mkdir -m 777 "$1"', /others may write/],
      ['/var/lib/mend/people', 'ln -s "$2" "$1"', /is not a folder but something in its place/],
    ];
    const state = 'stat -c "%u %a %F" "$1" "$2"';
    for (const [path, make, sentence] of cases) {
      const before = await look(`mv "$1" "$1.away"; ${make}; ${state}`, path, ann.home, ann.name);
      expectRefusal(await admin('enable', bob.name), 1, sentence);
      expect(await look(`${state}; rm -rf "$1"; mv "$1.away" "$1"`, path, ann.home)).toBe(before);
    }
    expect((await admin('status')).code).toBe(0);
  });

  test('a store that is damaged keeps nobody from being enabled, and is told of; a program that they cannot run does', async () => {
    const bob = machine.person(1);
    await look('cp "$1"/store.db "$1.kept"; printf broken >"$1"/store.db', store(bob));
    const damaged = await admin('enable', bob.name);
    expect(damaged).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`mend: ${bob.name}: the store ${store(bob)}/store.db`),
    });
    expect(damaged.stdout).toContain(`enabled ${bob.name}\n`);
    await look('cat "$1.kept" >"$1"/store.db; rm "$1.kept"', store(bob));
    const hidden = join(machine.root.home, 'mend');
    await look(
      'mkdir -m 700 "$1"; cp -r "$2"/dist "$2"/package.json "$1"; ln -s "$2"/node_modules "$2"/native "$1"',
      hidden,
      programFolder(),
    );
    const ended = await machine.root.run([process.execPath, join(hidden, 'dist/main.js'), 'admin', 'enable', bob.name]);
    expectRefusal(
      ended,
      1,
      new RegExp(`"${bob.name}" cannot run ${hidden}/dist/main.js: install mend where everybody may read it`),
    );
  });

  test('a number of a user that was given to somebody else does not bring the memory along', async () => {
    const [ann, bob] = [machine.person(0), machine.person(1)];
    await look('sed -i "s/$2/someoneelse/" "/var/lib/mend/people/$1"', `${bob.uid}`, bob.name);
    const sentence = new RegExp(`user ${bob.uid} was "someoneelse" when memory was set up, and is "${bob.name}" now`);
    expectRefusal(await admin('enable', bob.name), 1, sentence);
    expect((await admin('status')).stderr).toMatch(sentence);
    await look('sed -i "s/someoneelse/$2/" "/var/lib/mend/people/$1"', `${bob.uid}`, bob.name);
    await look(`echo '{"name":"gone","enabled":true}' >/var/lib/mend/people/$1`, `${UNUSED}`);
    const started = await admin('start');
    expect(started).toMatchObject({ code: 3, stdout: expect.stringContaining(ann.name) });
    expect(started.stderr).toContain(`mend: user ${UNUSED} ("gone") is gone: run "mend admin disable ${UNUSED}"`);
    expect((await admin('status')).stderr).toContain(`mend: gone: there is no user ${UNUSED} any more`);
    expect(await admin('disable', 'gone')).toMatchObject({ code: 0, stdout: 'disabled gone\n', stderr: '' });
    expectRefusal(await admin('disable', 'nosuchuser'), 1, /"nosuchuser" was never enabled/);
    await look('rm /var/lib/mend/people/$1', `${UNUSED}`);
  });

  test('status tells of daemons that died, and of stores that others may read', async () => {
    const ann = machine.person(0);
    const { pid, supervisor_pid } = await shown(ann);
    process.kill(supervisor_pid as number, 'SIGKILL');
    await until(async () => (await shown(ann)).supervisor_pid === null);
    expect(await shown(ann)).toMatchObject({ pid, faults: [expect.stringContaining('the supervisor of the daemon')] });
    process.kill(pid as number, 'SIGKILL');
    await until(async () => (await shown(ann)).pid === null);
    await look('chmod 640 "$1"/store.db', store(ann));
    const { stdout, stderr } = await admin('status');
    await look('chmod 600 "$1"/store.db', store(ann));
    expect(stdout).toMatch(new RegExp(`^${ann.name} +enabled +not running +1 +[\\d.]+ [KM]B +${store(ann)}$`, 'm'));
    for (const fault of ['mounts have lost the daemon', 'a daemon did not end cleanly', 'others may read the store'])
      expect(stderr).toContain(`mend: ${ann.name}: ${fault}`);
    expect((await admin('start')).stdout).toContain(`${ann.name}: mounted `);
    expect((await shown(ann)).faults).toEqual([]);
  });

  test('status opens no file beside a store, nor the store', async () => {
    const folder = store(machine.person(0));
    const opened = (...command: string[]): Promise<string> =>
      look('python3 "$@"', join(import.meta.dirname, '../support/opened.py'), folder, ...command);
    expect(await opened(...program, 'admin', 'status')).toBe('run\n');
    expect(await opened('cat', join(folder, 'store.db'))).toBe('store.db\n');
  });
});

test('everybody but root is refused', async () => {
  const person = await Person.make();
  try {
    for (const args of [['enable', 'x'], ['disable', 'x'], ['start'], ['status'], ['status', '--json']])
      expectRefusal(await person.mend(['admin', ...args]), 1, /only root sets people up/);
    expect(lstatSync(join(person.user.home, '.local'), { throwIfNoEntry: false })).toBeUndefined();
  } finally {
    await person.remove();
  }
});
