import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { checkKernel, checkNode } from '../../src/cli/doctor/program.js';
import { programFolder, programPath } from '../support/program.js';
import { isRoot, type RunResult } from '../support/users.js';
import { examined, expectAmong, expectFault, faults, findingsOf } from './doctor.js';
import { Person } from './person.js';

let person: Person;

beforeAll(async () => {
  person = await Person.make();
});

afterAll(async () => {
  await person.remove();
});

function found(name: string): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const file = folders.map((folder) => join(folder, name)).find((one) => existsSync(one));
  if (file === undefined) throw new Error(`${name} is not on PATH`);
  return file;
}

/** A PATH that holds the named programs and nothing else. */
function pathWith(names: readonly string[]): string {
  const folder = openFolder('bin-');
  for (const name of names) symlinkSync(found(name), join(folder, name));
  return folder;
}

function openFolder(prefix: string): string {
  const folder = mkdtempSync(join(inject('runFolder'), prefix));
  chmodSync(folder, 0o755);
  return folder;
}

describe('programs', () => {
  test('Git is missing', async () => {
    const findings = await examined(person, { env: { PATH: pathWith(['setpriv', 'fusermount3', 'stat']) } });
    expectAmong(findings, /^problem git: Git was not found: install the package "git"/);
    expectAmong(findings, /^problem repository: Git was not found/);
  });

  test('fusermount3 is missing', async () => {
    const findings = await examined(person, { env: { PATH: pathWith(['setpriv', 'git', 'stat']) } });
    expectFault(findings, /^problem fusermount: fusermount3 is not on PATH: install the package fuse3/);
  });

  test.runIf(isRoot)('fusermount3 is not setuid', async () => {
    const path = pathWith(['setpriv', 'git', 'stat']);
    copyFileSync(found('fusermount3'), join(path, 'fusermount3'));
    chmodSync(join(path, 'fusermount3'), 0o755);
    expectFault(
      await examined(person, { env: { PATH: path } }),
      /^problem fusermount: \S+\/fusermount3 may not mount for you: it is not a setuid program of root: have an administrator run "chown root /,
    );
  });

  test.runIf(isRoot)('no program may gain privileges', async () => {
    const result = await person.user.run(
      ['setpriv', '--no-new-privs', process.execPath, programPath(), 'doctor', '--json'],
      { cwd: person.repository },
    );
    expectFault(
      findingsOf(result),
      /^problem fusermount: \S+ may not mount for you: this session cannot gain privileges \(no_new_privs\): run "mend mount" outside/,
    );
  });

  test('Node.js is too old', () => {
    expect(checkNode('20.11.1', '20.12')).toEqual([
      { status: 'problem', message: 'Node.js 20.11.1 is too old', hint: 'install Node.js 20.12 or later' },
    ]);
    expect(checkNode('18.20.0', '20.12')).toMatchObject([{ status: 'problem' }]);
    for (const version of ['20.12.0', '22.1.0', '100.0.0'])
      expect(checkNode(version, '20.12')).toMatchObject([{ status: 'ok' }]);
  });

  test('the kernel tells what it offers', () => {
    const daemon = undefined;
    expect(checkKernel({ daemon }, '4.19.0-generic')).toMatchObject([
      { status: 'problem', hint: 'use a kernel from 4.20 on' },
    ]);
    expect(checkKernel({ daemon }, '6.1.0-13-amd64')).toMatchObject([
      {
        status: 'ok',
        message: expect.stringMatching(/cannot send requests again \(from 6\.9\), cannot end stuck requests/),
      },
    ]);
    expect(checkKernel({ daemon }, '6.18.2')).toMatchObject([
      { status: 'ok', message: 'Linux 6.18.2: requests in flight can be sent again, stuck requests end by themselves' },
    ]);
  });
});

describe('the native part', () => {
  const doctorOf = (change: (addon: string) => void): Promise<RunResult> => {
    const copy = openFolder('copy-');
    for (const part of ['dist', 'package.json', 'native/build/Release']) {
      mkdirSync(join(copy, part, '..'), { recursive: true });
      cpSync(join(programFolder(), part), join(copy, part), { recursive: true });
    }
    symlinkSync(join(programFolder(), 'node_modules'), join(copy, 'node_modules'));
    change(join(copy, 'native/build/Release/mend.node'));
    return person.user.run([process.execPath, join(copy, 'dist/main.js'), 'doctor', '--json'], {
      cwd: person.repository,
    });
  };

  test('is there', async () => {
    expect(faults(findingsOf(await doctorOf(() => undefined)))).toEqual([]);
  });

  test('is not built', async () => {
    const findings = findingsOf(await doctorOf((addon) => rmSync(addon)));
    expectFault(findings, /^problem native: the FUSE addon is not built: install a C compiler and run "npm run build"/);
  });

  test('is of another machine', async () => {
    const findings = findingsOf(await doctorOf((addon) => writeFileSync(addon, 'no shared object')));
    expectFault(
      findings,
      /^problem native: the native part cannot be loaded by Node\.js \S+ on \S+: run "npm run build"/,
    );
  });
});

describe.runIf(isRoot)('/dev/fuse (only root can make another)', () => {
  /** Runs the doctor where a script has changed /dev, for this one process. */
  const doctorWith = (script: string): RunResult => {
    const folder = openFolder('dev-');
    const { uid, gid } = person.user;
    const command = `set -e; cd "$1"; ${script}
      cd "$2"; exec setpriv --reuid=${uid} --regid=${gid} --clear-groups -- env HOME="$3" "$4" "$5" doctor --json`;
    const args = [folder, person.repository, person.user.home, process.execPath, programPath()];
    const { status, stdout, stderr } = spawnSync('unshare', ['--mount', 'sh', '-c', command, 'sh', ...args], {
      encoding: 'utf8',
    });
    return { code: status, signal: null, stdout, stderr };
  };
  const ownDevices = 'mount -t tmpfs -o mode=755 mend-dev "$1"; cd "$1"; mknod fuse c 10 229; ';

  test('is as it should be', () => {
    const result = doctorWith(`${ownDevices} chmod 666 fuse; mount --bind fuse /dev/fuse`);
    expect(faults(findingsOf(result))).toEqual([]);
  });

  test('is closed', () => {
    const result = doctorWith(`${ownDevices} chmod 600 fuse; mount --bind fuse /dev/fuse`);
    expectFault(
      findingsOf(result),
      /^problem fuse-device: \/dev\/fuse is closed to you \(its mode is 0600\): have an administrator run "chmod 0666 \/dev\/fuse"/,
    );
  });

  test('is another device', () => {
    const result = doctorWith('mount --bind /dev/null /dev/fuse');
    expectFault(findingsOf(result), /^problem fuse-device: \/dev\/fuse is not the device of FUSE: load it with/);
  });

  test('is missing', () => {
    const result = doctorWith(`${ownDevices} rm fuse
      for device in 'null 1 3' 'zero 1 5' 'random 1 8' 'urandom 1 9'; do mknod -m 666 \${device%% *} c $(echo $device | cut -d' ' -f2-); done
      mount --bind . /dev`);
    expectFault(
      findingsOf(result),
      /^problem fuse-device: there is no \/dev\/fuse: load it with "modprobe fuse" as root, or start the container/,
    );
  });
});
