import { once } from 'node:events';
import { mkdirSync, mkdtempSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { hungMount } from './hung-mount.js';
import { canAbort, freeMounts, leftoverMounts, withDeadline } from './mounted.js';
import { currentUser } from './users.js';

let point: string;
let end: () => void;

beforeEach(async () => {
  point = join(mkdtempSync(join(inject('runFolder'), 'mounted-')), 'a b');
  mkdirSync(point);
  end = await hungMount(point);
});

afterEach(() => {
  freeMounts(point);
  end();
});

test('a mount is found by its folder and by what it lies under, and nowhere else', () => {
  expect(leftoverMounts(point)).toEqual([point]);
  expect(leftoverMounts(join(point, '..'))).toEqual([point]);
  expect(leftoverMounts(point.slice(0, -1))).toEqual([]);
  expect(freeMounts(point)).toEqual([]);
  expect(leftoverMounts(point)).toEqual([]);
});

test.runIf(canAbort())('another process that hangs in the mount gets an error when the time is over', async () => {
  const user = currentUser();
  const child = user.spawn(['stat', join(point, 'file')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let message = '';
  child.stderr?.on('data', (chunk) => {
    message += chunk;
  });
  const closed = once(child, 'close');
  await expect(withDeadline(1, [point], () => closed)).rejects.toThrow('not done after 1 s');
  const [code, signal] = await closed;
  expect([code, signal]).toEqual([1, null]);
  expect(message).toMatch(/connection abort|not connected/i);
  expect(leftoverMounts(point)).toEqual([]);
  await user.remove();
});

test.runIf(canAbort())('a test whose own thread hangs in the mount is freed', async () => {
  const begin = Date.now();
  await expect(withDeadline(1, [point], () => statSync(join(point, 'file')))).rejects.toThrow('not done after 1 s');
  expect(Date.now() - begin).toBeLessThan(20_000);
  expect(leftoverMounts(point)).toEqual([]);
});

test('work that ends in time keeps its result, its error and its mounts', async () => {
  expect(await withDeadline(30, [point], async () => 'done')).toBe('done');
  const failure = withDeadline(30, [point], () => Promise.reject(new TypeError('its own')));
  await expect(failure).rejects.toThrow(new TypeError('its own'));
  expect(leftoverMounts(point)).toEqual([point]);
});
