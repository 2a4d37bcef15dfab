import { spawnSync } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { programFolder, programPath } from '../support/program.js';
import { isRoot, type RunResult } from '../support/users.js';
import { expectRefusal, type MendOptions, memoryFolder, Person } from './person.js';

let person: Person;

beforeEach(async () => {
  person = await Person.make();
});

afterEach(async () => {
  await person.remove();
});

/** A command that must be refused and leave nothing behind: no mount, no change in the home. */
async function refused(args: string[], sentence: RegExp, options?: MendOptions): Promise<void> {
  await refusedBy(() => person.mend(args, options), sentence);
}

async function refusedBy(run: () => Promise<RunResult> | RunResult, sentence: RegExp): Promise<void> {
  const mounts = person.mounts();
  const before = person.snapshot();
  expectRefusal(await run(), 1, sentence);
  expect(person.mounts()).toEqual(mounts);
  expect(person.snapshot()).toEqual(before);
}

/** Each is tried without a store, and with one that has memory of another project. */
const states: [string, () => Promise<unknown>][] = [
  ['without a store', async () => undefined],
  ['with a store', makeStore],
];

/** Makes one by mounting and unmounting another repository. */
async function makeStore(): Promise<void> {
  await person.shell('git init -q other');
  expect(await person.mend(['mount', 'other'], { cwd: person.user.home })).toMatchObject({ code: 0 });
  await person.rest();
}

describe.each(states)('a mount point, %s, that', (_, prepare) => {
  beforeEach(async () => {
    await prepare();
    await person.shell('mkdir -p "$(dirname "$M")"');
  });

  test('is a symbolic link', async () => {
    await person.shell(`mkdir elsewhere; printf x > elsewhere/a.md; ln -s ~/elsewhere "$M"`);
    await refused(['mount'], /cannot mount on \S+memory: it is a symbolic link; replace it with a folder/);
  });

  test('is a symbolic link to nothing', async () => {
    await person.shell('ln -s nowhere "$M"');
    await refused(['mount'], /it is a symbolic link/);
  });

  test('is a file', async () => {
    await person.shell('printf x > "$M"');
    await refused(['mount'], /cannot mount on \S+memory: it is not a folder; move it away/);
  });

  test('is a pipe', async () => {
    await person.shell('mkfifo "$M"');
    await refused(['mount'], /it is not a folder/);
  });

  test('has a file in the place of its parent', async () => {
    await person.shell('rmdir "$(dirname "$M")"; printf x > "$(dirname "$M")"');
    await refused(['mount'], /cannot mount below \S+: it is not a folder; move it away/);
  });

  test.runIf(isRoot)('belongs to someone else', async () => {
    await person.shell('mkdir "$M"');
    chownSync(person.memory, 0, 0);
    await refused(['mount'], /cannot mount on \S+memory: it belongs to user 0, not to you; use a home of your own/);
  });

  test.runIf(isRoot)('cannot be reached', async () => {
    await person.shell('mkdir "$M"; chmod 700 "$(dirname "$M")"');
    chownSync(join(person.memory, '..'), 0, 0);
    await refused(['mount'], /cannot mount below \S+: it cannot be entered; use a home of your own/);
  });

  test('cannot be made', async () => {
    await person.shell('chmod 500 "$(dirname "$M")"');
    await refused(['mount'], /cannot make a folder in \S+ \(EACCES\): make it writable for you/);
  });

  test.runIf(isRoot)('has another file system on it', async () => {
    await person.shell('mkdir "$M"');
    expect(asRoot(['mount', '-t', 'tmpfs', 'tmpfs', person.memory])).toMatchObject({ code: 0 });
    await refused(['mount'], /cannot mount on \S+memory: something else \(tmpfs\) is mounted there; unmount it first/);
    expect(asRoot(['umount', person.memory])).toMatchObject({ code: 0 });
  });

  test('is served by a mend of another store', async () => {
    const env = { MEND_STORE_DIR: join(person.user.home, 'another') };
    expect(await person.mend(['mount'], { env })).toMatchObject({ code: 0 });
    const mounts = person.mounts();
    expectRefusal(
      await person.mend(['mount']),
      1,
      /it is mounted already, by a mend that serves another store; unmount it there first/,
    );
    expectRefusal(await person.mend(['unmount', person.memory]), 1, /nothing is mounted for this project here/);
    expect(person.mounts()).toEqual(mounts);
    expect(existsSync(join(person.store, 'store.db'))).toBe(prepare === makeStore);
    expect(await person.mend(['unmount'], { env })).toMatchObject({ code: 0 });
  });

  test.each([
    ['HOME', 'home'],
    ['CLAUDE_CONFIG_DIR', 'a/b/c'],
  ] as const)('has no parent: %s does not exist', async (name, path) => {
    const missing = join(person.user.home, 'missing', path);
    await refused(
      ['mount'],
      /cannot mount under \S+: \S+missing\S* is missing; make that folder, or correct HOME or CLAUDE_CONFIG_DIR/,
      {
        env: { [name]: missing },
      },
    );
  });

  test('hangs on a relative HOME or CLAUDE_CONFIG_DIR', async () => {
    await refused(['mount'], /HOME is not set to an absolute path/, {
      env: { HOME: 'here', MEND_STORE_DIR: person.store },
    });
  });
});

describe('a mount point that fails while the daemon runs', () => {
  test('leaves the other mount up and makes nothing', async () => {
    await person.shell('git init -q other');
    await person.done('mount');
    const other = memoryFolder(person.user.home, join(person.user.home, 'other'));
    await person.shell(`mkdir -p "$(dirname ${other})"; ln -s / ${other}`);
    const projects = await person.json('project', 'list');
    expectRefusal(await person.mend(['mount', '../other']), 1, /it is a symbolic link/);
    expect(person.mounts()).toEqual([person.memory]);
    expect(await person.json('project', 'list')).toEqual(projects);
  });
});

describe('a working folder', () => {
  test('outside any repository is a project of its own', async () => {
    await person.shell('mkdir "plain folder"');
    const folder = join(person.user.home, 'plain folder');
    expect(await person.mend(['mount'], { cwd: folder })).toMatchObject({
      code: 0,
      stdout: `mounted ${memoryFolder(person.user.home, folder)}\n`,
    });
    expect(await person.json('project', 'list')).toEqual([
      { name: 'plain folder', files: 0, remotes: [], paths: [folder] },
    ]);
    await person.done('unmount', '--all');
  });

  test('that does not exist', async () => {
    await refused(['mount', 'missing'], /no folder "\S+\/missing"/i);
    await refused(['unmount', 'missing'], /nothing is mounted/);
  });

  test('that is a file', async () => {
    await person.shell('touch file');
    await refused(['mount', '../file'], /is not a folder/);
  });

  test('that was removed meanwhile', async () => {
    await person.shell('mkdir gone');
    const inGone = (command: string): Promise<RunResult> =>
      person.user.run([
        'sh',
        '-c',
        `cd gone; rmdir ~/gone; "$0" "$@" ${command}; status=$?; mkdir ~/gone; exit $status`,
        process.execPath,
        programPath(),
      ]);
    for (const command of ['mount', 'adopt']) {
      await refusedBy(() => inGone(command), /the folder you are in is gone: change to a checkout/);
    }
    await person.done('mount');
    expect(await inGone('memory --project garden')).toMatchObject({ code: 0, stderr: '' });
    expect(await inGone('unmount --project garden')).toMatchObject({ code: 0, stderr: '' });
  });

  test.runIf(isRoot)('whose repository belongs to someone else', async () => {
    chownSync(person.repository, 0, 0);
    chownSync(join(person.repository, '.git'), 0, 0);
    await refused(['mount'], /belongs to another user and Git does not trust it/);
  });

  test('whose repository is broken', async () => {
    await person.shell(`echo '[core' > ${person.repository}/.git/config`);
    await refused(['mount'], /Git cannot read the repository/);
  });
});

describe('settings that cannot be read', () => {
  test.each([
    ['not YAML', 'limits: [', /config\.yaml is not valid YAML \(line 1\)/],
    ['an unknown key', 'limit: 3', /there is no setting "limit"/],
    ['a wrong value', 'limits:\n  files: many', /"limits\.files" must be a whole number/],
    ['a folder', '', /config\.yaml cannot be read \(EISDIR\)/],
  ])('%s: mount is refused, unmount still works', async (_, text, sentence) => {
    const write = `mkdir -p ~/.config/mend; ${text === '' ? 'mkdir ~/.config/mend/config.yaml' : `printf '${text}' > ~/.config/mend/config.yaml`}`;
    await person.shell(write);
    await refused(['mount'], sentence);
    await refused(['mount', '--harness', 'claude'], sentence);
    await person.shell('rm -r ~/.config/mend/config.yaml');
    await person.done('mount');
    await person.shell(write);
    expect(await person.done('unmount')).toBe(`unmounted ${person.memory}\n`);
  });
});

describe('programs and devices', () => {
  /** A PATH that holds the named programs and nothing else. */
  function pathWith(...names: string[]): { env: Record<string, string> } {
    const folder = mkdtempSync(join(inject('runFolder'), 'bin-'));
    mkdirSync(join(folder, 'bin'), { mode: 0o755 });
    for (const name of names) {
      const found = (process.env['PATH'] ?? '').split(delimiter).map((part) => join(part, name));
      symlinkSync(found.find((file) => existsSync(file)) ?? `${name} is missing`, join(folder, 'bin', name));
    }
    if (isRoot) chownSync(folder, person.user.uid, person.user.gid);
    return { env: { PATH: join(folder, 'bin') } };
  }

  test('fusermount3 is absent', async () => {
    await refused(['mount'], /fusermount3 is not installed: install the package fuse3/, runWith('git'));
    await refused(['mount', '--foreground'], /fusermount3 is not installed/, runWith('git'));
  });

  test('Git is absent', async () => {
    await refused(['mount'], /Git was not found: install the package "git"/i, runWith('fusermount3'));
  });

  /** Without `setpriv` on the PATH the test could not become the person; it is named by its whole path. */
  function runWith(...names: string[]): MendOptions {
    return pathWith(...names, ...(isRoot ? ['setpriv'] : []));
  }

  test('the addon is absent: nothing can be mounted, and listing, showing and removing work', async () => {
    const folder = mkdtempSync(join(inject('runFolder'), 'program-'));
    for (const part of ['dist', 'package.json'])
      cpSync(join(programFolder(), part), join(folder, part), { recursive: true });
    symlinkSync(join(programFolder(), 'node_modules'), join(folder, 'node_modules'));
    if (isRoot) chownSync(folder, person.user.uid, person.user.gid);
    const mend = (...args: string[]): Promise<RunResult> =>
      person.user.run([process.execPath, join(folder, 'dist/main.js'), ...args], { cwd: person.repository });
    await refusedBy(() => mend('mount'), /the FUSE addon is not built: install a C compiler and run "npm run build"/);
    await person.shell('mkdir -p "$M"; printf x > "$M/a.md"; printf y > "$M/b.md"');
    await person.done('mount');
    await person.rest();
    await refusedBy(() => mend('mount'), /the FUSE addon is not built/);
    expect(await mend('memory', 'show', 'a.md')).toMatchObject({ code: 0, stdout: 'x' });
    expect(await mend('memory', 'rm', 'a.md')).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse((await mend('memory', '--json')).stdout)).toMatchObject([{ file: 'b.md' }]);
    expect(await mend('status')).toMatchObject({ code: 0, stderr: '' });
    rmSync(folder, { recursive: true });
  });

  describe.runIf(isRoot)('in a mount namespace of its own', () => {
    /** Runs `mend mount` where `prepare` (a shell script, as root) has changed what is mounted for that process alone. */
    const mountIn = (prepare: string): RunResult => {
      const { uid, gid } = person.user;
      const script = `set -e; dev=$(mktemp -d ${inject('runFolder')}/dev-XXXXXX); mount -t tmpfs -o mode=755,dev tmpfs $dev
        ${prepare}
        cd "$1"; shift; exec setpriv --reuid=${uid} --regid=${gid} --init-groups -- "$@"`;
      const env = { HOME: person.user.home, PATH: process.env['PATH'] ?? '' };
      return asRoot(
        [
          'unshare',
          '-m',
          '--propagation',
          'private',
          'sh',
          '-c',
          script,
          'sh',
          person.repository,
          process.execPath,
          programPath(),
          'mount',
        ],
        env,
      );
    };

    test('there is no /dev/fuse', async () => {
      const prepare = `mknod -m 666 $dev/null c 1 3; mknod -m 666 $dev/zero c 1 5; mknod -m 666 $dev/urandom c 1 9; mknod -m 666 $dev/random c 1 8
        mount --bind $dev /dev`;
      await refusedBy(
        () => mountIn(prepare),
        /there is no FUSE here: load it with "modprobe fuse" as root, or let the container have \/dev\/fuse/,
      );
    });

    test('/dev/fuse is closed', async () => {
      await refusedBy(
        () => mountIn('mknod -m 600 $dev/fuse c 10 229; mount --bind $dev/fuse /dev/fuse'),
        /\/dev\/fuse is closed to you: have an administrator run "chmod 0666 \/dev\/fuse"/,
      );
    });

    test('/dev/fuse is a device that nobody drives', async () => {
      await refusedBy(
        () => mountIn('mknod -m 666 $dev/fuse c 120 77; mount --bind $dev/fuse /dev/fuse'),
        /there is no FUSE here/,
      );
    });
  });
});

/** Runs a program of root's. */
function asRoot([program, ...args]: readonly [string, ...string[]], env = process.env): RunResult {
  const { status, signal, stdout, stderr } = spawnSync(program, args, { env, encoding: 'utf8', timeout: 60_000 });
  return { code: status, signal, stdout, stderr };
}
