import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { MendError } from '../../src/errors.js';
import { checkStore } from '../../src/store/check/check-store.js';
import { MemoryFiles } from '../../src/store/memory-files.js';
import { explain, openDatabase } from '../../src/store/open-database.js';
import { Store } from '../../src/store/store.js';
import { addTree, freshFolder, openStore } from './fresh-store.js';
import { FROZEN, frozen } from './frozen.js';

const PAGE = 4096;
let folder: string;
let file: string;

beforeEach(() => {
  folder = freshFolder();
  file = join(folder, 'store.db');
});

/** A store of today with files, versions, records of imports and unsaved writes. */
function makeStore(): Buffer {
  copyFileSync(frozen(Math.max(...FROZEN)), file);
  chmodSync(file, 0o600);
  open().close();
  return readFileSync(file);
}

const open = (): Store =>
  new Store(folder, { create: false, owner: 'test', machine: () => ({ machineId: 'm', name: 'host' }) });

/** Numbers below `below`, the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) % Math.floor(below);
  };
}

/** Most of a small store is room that nothing uses yet. */
function usedByte(bytes: Buffer, next: (below: number) => number): number {
  const at = next(bytes.length);
  return bytes[at] === 0 ? usedByte(bytes, next) : at;
}

/** Ways in which disks and people damage files. */
const damages: readonly ((bytes: Buffer, next: (below: number) => number) => Buffer)[] = [
  (bytes, next) => {
    const at = usedByte(bytes, next);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << next(8));
    return bytes;
  },
  (bytes, next) => {
    const at = usedByte(bytes, next);
    return bytes.fill(next(256), at, at + 1 + next(64));
  },
  (bytes, next) => {
    const at = next(bytes.length / PAGE) * PAGE;
    return bytes.fill(0, at, at + PAGE);
  },
  (bytes, next) => {
    const [one, other] = [next(bytes.length / PAGE) * PAGE, next(bytes.length / PAGE) * PAGE];
    bytes.copyWithin(one, other, other + PAGE);
    return bytes;
  },
  (bytes, next) => bytes.subarray(0, next(bytes.length)),
];

/** Every content that is named by a head or a version, by its digest. */
function contentsOf(store: Store): Map<string, string> {
  const found = new Map<string, string>();
  for (const { id } of store.projects.list(store.machine))
    for (const tree of store.trees.ofProject(id)) {
      for (const { content } of new MemoryFiles(store, tree).list()) note(store, found, content);
      for (const { content } of store.versions.all(tree.id)) note(store, found, content);
    }
  return found;
}

function note(store: Store, found: Map<string, string>, content: number): void {
  const digest = store.contents.digest(content)?.sha256.toString('hex') ?? '';
  found.set(digest, store.content(content).toString('latin1'));
}

/** What an error says to people; fails for one that is not for them. */
function sentence(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (thrown) {
    const error = explain(thrown, file);
    expect(error, String(thrown)).toBeInstanceOf(MendError);
    expect((error as MendError).message).toMatch(/^[^\n]+: [^\n]+$/);
    return (error as MendError).message;
  }
}

const seeds = Array.from({ length: 40 }, (_, i) => i + 1);

test.each(damages.map((damage, i) => [i, damage] as const))(
  'damage of kind %i is named, or does not change what is read; nothing is written',
  (kind, damage) => {
    const whole = makeStore();
    const backup = readdirSync(folder).find((name) => name.endsWith('.backup')) ?? '';
    rmSync(join(folder, backup));
    const store = open();
    const expected = contentsOf(store);
    store.close();
    let named = 0;
    for (const seed of seeds) {
      const bytes = damage(Buffer.from(readFileSync(writeWhole(whole))), numbers(seed * 1000 + kind));
      if (bytes.equals(whole)) continue;
      writeFileSync(file, bytes);
      let faults = 0;
      const refused = sentence(() => {
        faults = checkStore(folder).faults.length;
      });
      const opened = sentence(() => openDatabase(folder, { create: false, check: 'full' }).close());
      expect(readFileSync(file).equals(bytes), `seed ${seed}`).toBe(true);
      // SQLite may leave a log in which nothing is.
      expect(
        readdirSync(folder).filter((name) => statSync(join(folder, name)).size > 0 && !name.endsWith('-shm')),
      ).toEqual(['store.db']);
      if (refused !== undefined || faults > 0) {
        named++;
        sentence(() => {
          const damaged = open();
          try {
            contentsOf(damaged);
          } finally {
            damaged.close();
          }
        });
        continue;
      }
      expect(opened, `seed ${seed}`).toBe(undefined);
      const sound = open();
      for (const [digest, text] of contentsOf(sound)) expect(text, `seed ${seed}`).toBe(expected.get(digest));
      sound.close();
    }
    expect(named).toBeGreaterThan(seeds.length / 10);
  },
);

/** Puts the whole store back, without what a look at a damaged one left. */
function writeWhole(whole: Buffer): string {
  for (const name of readdirSync(folder)) if (name !== 'store.db') rmSync(join(folder, name), { recursive: true });
  writeFileSync(file, whole);
  return file;
}

test('a store whose log was lost is as it was when the log was last moved into it', () => {
  makeStore();
  const store = open();
  const before = contentsOf(store);
  store.write(() => store.putContent(Buffer.from('late')));
  const bytes = readFileSync(file);
  const log = readFileSync(`${file}-wal`);
  store.close();
  for (const left of [undefined, log.subarray(0, log.length / 2), Buffer.alloc(log.length), Buffer.alloc(10, 7)]) {
    writeFileSync(file, bytes);
    if (left) writeFileSync(`${file}-wal`, left, { mode: 0o600 });
    expect(checkStore(folder).faults).toEqual([]);
    const again = open();
    expect(contentsOf(again)).toEqual(before);
    again.close();
    rmSync(`${file}-wal`, { force: true });
  }
  writeFileSync(file, bytes);
  writeFileSync(`${file}-wal`, Buffer.concat([Buffer.alloc(32, 7), log]), { mode: 0o600 });
  expect(checkStore(folder).faults).toEqual([{ check: 'log', message: 'its log does not begin as a log does' }]);
  expect(sentence(() => open().close())).toMatch(/is damaged \(its log does not begin/);
  expect(existsSync(`${file}-wal`)).toBe(true);
});

test('a store without any memory yet is sound, with a file that is being written too', () => {
  const store = openStore(folder);
  const { id: tree, root } = addTree(store);
  store.write(() => {
    const times = { mtime: 1, atime: 1, ctime: 1, shown: 1 };
    const node = {
      id: store.newId(),
      tree,
      mount: 0,
      parent: root,
      name: 'a.md',
      kind: 'file',
      content: null,
    } as const;
    store.insertNode({ ...node, size: 0, ...times });
    store.insertDraft({ id: store.newId(), tree, node: node.id, path: 'a.md', session: 0, base: null, first: null });
  });
  expect(checkStore(folder)).toMatchObject({ faults: [] });
});
