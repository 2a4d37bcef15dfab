import { closeSync, mkdtempSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { Flusher } from '../../src/store/flusher.js';
import { addTree, openStore } from './fresh-store.js';

function database(): string {
  const file = join(mkdtempSync(join(inject('runFolder'), 'flush-')), 'store.db');
  writeFileSync(`${file}-wal`, 'log');
  return file;
}

test('calls while a flush runs share the next one', async () => {
  const flusher = new Flusher(database(), (work) => work());
  const order: string[] = [];
  const first = flusher.flush();
  const second = flusher.flush();
  const third = flusher.flush();
  expect(second).not.toBe(first);
  expect(third).toBe(second);
  await Promise.all([first.then(() => order.push('first')), second.then(() => order.push('second'))]);
  expect(order).toEqual(['first', 'second']);
  const fourth = flusher.flush();
  expect(fourth).not.toBe(second);
  await fourth;
  flusher.close();
});

test('a call after a flush began never takes that one for its own', async () => {
  const flusher = new Flusher(database(), (work) => work());
  for (let round = 0; round < 200; round++) {
    const running = flusher.flush();
    const later = flusher.flush();
    let done = false;
    running.then(() => {
      done = true;
    });
    await later;
    expect(done).toBe(true);
  }
  flusher.close();
});

test('a failure reaches everybody who waits, and the next call tries again', async () => {
  const flusher = new Flusher(database(), (work) => work());
  flusher.close();
  const results = await Promise.allSettled([flusher.flush(), flusher.flush(), flusher.flush()]);
  for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'EBADF' } });
  await expect(flusher.flush()).rejects.toMatchObject({ code: 'EBADF' });
});

test('without a log there is nothing to flush', () => {
  const folder = mkdtempSync(join(inject('runFolder'), 'flush-'));
  closeSync(openSync(join(folder, 'store.db'), 'w'));
  expect(() => new Flusher(join(folder, 'store.db'), (work) => work())).toThrow(/ENOENT/);
});

test('a store flushes when something was committed since', async () => {
  const store = openStore();
  await store.log.flushIfNeeded();
  addTree(store);
  await store.flushed();
  store.write(() => store.putContent(Buffer.from('text')));
  await store.log.flushIfNeeded();
});
