import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { Store } from '../../src/store/store.js';
import { isRoot } from '../support/users.js';
import { freshFolder } from './fresh-store.js';

const run = (command: string, ...args: string[]) => spawnSync(command, args, { encoding: 'utf8' });
let disk: string;

beforeEach(() => {
  disk = mkdtempSync(join(inject('runFolder'), 'disk-'));
});

afterEach(() => {
  run('umount', disk);
  rmSync(disk, { recursive: true, force: true });
});

const open = (folder: string) =>
  new Store(folder, { create: true, owner: 'test', machine: () => ({ machineId: 'm', name: 'host' }) });

test('room is made in the log', () => {
  const folder = freshFolder();
  const store = open(folder);
  store.log.reserve();
  expect(statSync(join(folder, 'store.db-wal')).size).toBe(16 * 1024 * 1024);
  store.close();
});

test.runIf(isRoot)('a disk without room for the log is no reason not to serve (only root can make a small one)', () => {
  const made = run('mount', '-t', 'tmpfs', '-o', 'size=4m', 'mend-test', disk);
  expect(made).toMatchObject({ status: 0, stderr: '' });
  const folder = join(disk, 'store');
  mkdirSync(folder, { mode: 0o700 });
  const store = open(folder);
  try {
    store.write(() => store.putContent(Buffer.from('text')));
    expect(run('dd', 'if=/dev/zero', `of=${disk}/full`, 'bs=4096').stderr).toMatch(/No space left/);
    // The first takes what is left of the log's last page.
    for (let i = 0; i < 2; i++) store.log.reserve();
    // What is there already still serves.
    expect(store.db.pragma('quick_check(1)', { simple: true })).toBe('ok');
  } finally {
    store.close();
  }
});
