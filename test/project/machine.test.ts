import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readMachine } from '../../src/project/machine.js';
import { scratch } from './git-folder.js';

const ID = '0123456789abcdef0123456789abcdef';

it('takes the first system file that holds an id', () => {
  const folder = scratch();
  const [empty, early, good, late] = ['empty', 'early', 'good', 'late'].map((name) => join(folder, name));
  writeFileSync(empty ?? '', '');
  writeFileSync(early ?? '', 'uninitialized\n');
  writeFileSync(good ?? '', `${ID.toUpperCase()}\n`);
  writeFileSync(late ?? '', `${'f'.repeat(32)}\n`);
  const files = [join(folder, 'missing'), folder, empty, early, good, late].map(String);
  expect(readMachine(join(folder, 'store'), files)).toEqual({ machineId: ID, name: hostname() });
  expect(existsSync(join(folder, 'store'))).toBe(false);
});

it('makes an id once where the system has none', () => {
  const store = join(scratch(), 'a', 'store');
  const made = readMachine(store, []);
  expect(made.machineId).toMatch(/^[0-9a-f]{32}$/);
  expect(readMachine(store, [])).toEqual(made);
  expect(readdirSync(store)).toEqual(['machine-id']);
  expect(statSync(store).mode & 0o777).toBe(0o700);
  expect(statSync(join(store, 'machine-id')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(store, 'machine-id'), 'utf8')).toBe(`${made.machineId}\n`);
  expect(readMachine(join(scratch(), 'other'), []).machineId).not.toBe(made.machineId);
});

it('does not overwrite a kept id that it cannot read', () => {
  const store = scratch();
  writeFileSync(join(store, 'machine-id'), 'damaged\n');
  expect(() => readMachine(store, [])).toThrow(/EEXIST/);
  expect(readdirSync(store)).toEqual(['machine-id']);
});
