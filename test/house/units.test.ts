import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ExitStatus } from '../../src/cli/exit-status.js';
import { isInstalled } from '../cli/terminal.js';

const root = join(import.meta.dirname, '../..');
const unit = readFileSync(join(root, 'packaging/mend.service'), 'utf8');
const settings = new Map([...unit.matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(([, key, value]) => [key, value]));

/** What keeps fusermount3 from mounting, or others from seeing the mount, in a unit of a user manager. */
const HARMFUL =
  /^(NoNewPrivileges|Private\w+|Protect\w+|Restrict(?!Prevent|art)\w*|SystemCall\w+|Lock\w+|MemoryDenyWriteExecute|ReadOnlyPaths|ReadWritePaths|InaccessiblePaths|BindPaths|TemporaryFileSystem|RootDirectory|DynamicUser|MountFlags|AmbientCapabilities|CapabilityBoundingSet)$/;

const numbers = (key: string): number[] => (settings.get(key) ?? '').split(' ').map(Number);

test('systemd starts it again by what the exit statuses say', () => {
  expect(numbers('RestartPreventExitStatus')).toEqual([ExitStatus.failed, ExitStatus.usage]);
  expect(numbers('SuccessExitStatus')).toEqual([ExitStatus.unsettled]);
  expect(settings.get('Restart')).toBe('on-failure');
  const told = [ExitStatus.done, ...numbers('RestartPreventExitStatus'), ...numbers('SuccessExitStatus')];
  expect(told.sort()).toEqual(Object.values(ExitStatus).sort());
});

test('nothing in it keeps fusermount3 from mounting, or others from seeing the mount', () => {
  for (const key of settings.keys()) expect(key).not.toMatch(HARMFUL);
  expect('NoNewPrivileges').toMatch(HARMFUL);
  for (const key of ['Restart', 'RestartSec', 'RestartPreventExitStatus']) expect(key).not.toMatch(HARMFUL);
});

test.runIf(isInstalled('systemd-analyze'))('pleases systemd-analyze, which sees what is wrong', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mend-unit-'));
  const verify = (text: string): { status: number | null; stderr: string } => {
    const file = join(folder, 'mend.service');
    writeFileSync(file, text.replaceAll('/usr/bin/mend', process.execPath));
    const { status, stderr } = spawnSync('systemd-analyze', ['--user', '--man=no', 'verify', file], {
      encoding: 'utf8',
      env: { ...process.env, XDG_RUNTIME_DIR: folder },
    });
    return { status, stderr };
  };
  try {
    expect(verify(unit)).toEqual({ status: 0, stderr: '' });
    expect(verify(unit.replace('KillMode=', 'KillMod=')).stderr).toContain("Unknown key 'KillMod'");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('what is beside the manual pages is in the package', () => {
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
  for (const name of ['packaging/mend.service', 'packaging/mend-boot']) expect(files).toContain(name);
  expect(statSync(join(root, 'packaging/mend-boot')).mode & 0o111).toBe(0o111);
});
