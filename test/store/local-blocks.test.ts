import { beforeEach, expect, test } from 'vitest';
import { LOCAL_BLOCK } from '../../src/store/local-table.js';
import type { Store } from '../../src/store/store.js';
import { randomSource } from '../fuse/annotated.js';
import { openStore } from './fresh-store.js';

let store: Store;

beforeEach(() => {
  store = openStore();
});

/** A local file beside a plain buffer that gets the same calls. */
class Twin {
  readonly node = store.newId();
  model = Buffer.alloc(0);

  write(position: number, bytes: Buffer): void {
    store.write(() => store.writeLocal(this.node, position, bytes));
    this.#resize(Math.max(this.model.length, position + bytes.length));
    bytes.copy(this.model, position);
  }

  truncate(size: number): void {
    store.write(() => store.truncateLocal(this.node, size));
    this.#resize(size);
  }

  read(position: number, length: number): Buffer {
    return store.readLocal(this.node, position, length, this.model.length);
  }

  /** True when a read gives what the buffer holds there. */
  agrees(position: number, length: number): boolean {
    return this.read(position, length).equals(this.model.subarray(position, position + length));
  }

  #resize(size: number): void {
    this.model = Buffer.concat([this.model, Buffer.alloc(Math.max(0, size - this.model.length))]).subarray(0, size);
    this.model = Buffer.from(this.model);
  }
}

test('bytes across the border of two blocks', () => {
  const twin = new Twin();
  twin.write(LOCAL_BLOCK - 3, Buffer.from('abcdef'));
  expect(twin.read(LOCAL_BLOCK - 3, 6).toString()).toBe('abcdef');
  expect(twin.read(LOCAL_BLOCK - 1, 2).toString()).toBe('cd');
  expect(twin.read(0, LOCAL_BLOCK - 3).every((byte) => byte === 0)).toBe(true);
  twin.write(LOCAL_BLOCK - 1, Buffer.from('XY'));
  expect(twin.read(LOCAL_BLOCK - 3, 100).toString()).toBe('abXYef');
});

test('a hole within a block, and one of whole blocks, read as zeros', () => {
  const twin = new Twin();
  twin.write(0, Buffer.from('start'));
  twin.truncate(100);
  // The block in the store is shorter than where the read begins.
  expect(twin.read(50, 20)).toEqual(Buffer.alloc(20));
  expect(twin.agrees(3, 97)).toBe(true);
  twin.write(5 * LOCAL_BLOCK, Buffer.from('end'));
  expect(twin.agrees(0, 6 * LOCAL_BLOCK)).toBe(true);
});

test('a read ends with the file', () => {
  const twin = new Twin();
  twin.write(0, Buffer.from('text'));
  expect(twin.read(2, 100).toString()).toBe('xt');
  expect(twin.read(4, 100)).toEqual(Buffer.alloc(0));
  expect(twin.read(1000, 100)).toEqual(Buffer.alloc(0));
  expect(twin.read(0, 0)).toEqual(Buffer.alloc(0));
});

test('what was cut off never comes back', () => {
  const twin = new Twin();
  twin.write(0, Buffer.alloc(3 * LOCAL_BLOCK, 'x'));
  for (const size of [2 * LOCAL_BLOCK + 7, LOCAL_BLOCK, 5, 0]) {
    twin.truncate(size);
    twin.truncate(3 * LOCAL_BLOCK);
    expect(twin.agrees(0, 3 * LOCAL_BLOCK), `cut to ${size}`).toBe(true);
  }
});

test('files do not touch each other', () => {
  const [first, second] = [new Twin(), new Twin()];
  for (const twin of [first, second]) twin.write(0, Buffer.alloc(2 * LOCAL_BLOCK, twin === first ? 'a' : 'b'));
  first.truncate(10);
  store.write(() => store.deleteLocal(first.node));
  expect(second.agrees(0, 2 * LOCAL_BLOCK)).toBe(true);
  expect(first.read(0, 10)).toEqual(Buffer.alloc(10));
  expect(store.db.prepare('SELECT count(*) FROM local_block').pluck().get()).toBe(2);
});

test('any calls give what a plain buffer holds', () => {
  const seed = Number(process.env['MEND_SEED'] ?? Math.floor(Date.now() / 86_400_000));
  const random = randomSource(seed);
  const near = (): number =>
    Math.max(0, random(4) * LOCAL_BLOCK + (random(3) === 0 ? random(LOCAL_BLOCK) : random(9) - 4));
  for (let round = 0; round < 60; round++) {
    const twin = new Twin();
    for (let step = 0; step < 25; step++) {
      const kind = random(3);
      if (kind === 0) twin.truncate(near());
      else twin.write(near(), Buffer.alloc(1 + (random(4) === 0 ? random(2 * LOCAL_BLOCK) : random(50)), 1 + step));
      const position = near();
      const length = random(3 * LOCAL_BLOCK);
      expect(twin.agrees(position, length), `round ${round}, step ${step}, MEND_SEED=${seed}`).toBe(true);
    }
    expect(twin.agrees(0, twin.model.length), `round ${round}, MEND_SEED=${seed}`).toBe(true);
  }
});
