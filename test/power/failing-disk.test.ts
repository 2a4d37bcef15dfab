import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Random } from '../model/random.js';
import { type Agent, shared } from '../mounted/agent.js';
import { somebody, until } from '../mounted/stage.js';
import { withDeadline } from '../support/mounted.js';
import { choosePoints, cutPower, keepsPromises, type Left, type Recorded } from './cuts.js';
import { type Snapshot, snapshotOf } from './disk.js';
import { type Entry, readRecord } from './record.js';
import { RecordedStage } from './recorded-stage.js';

const { EIO, ENOSPC } = constants.errno;
const SECONDS = 150;
const SEED = Number(process.env['MEND_POWER_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const DATABASE = '/store.db';
const LOG = '/store.db-wal';

/** A mount whose disk fails when it is told to. */
class FailingDisk {
  readonly recorded: RecordedStage;
  readonly folder: string;
  /** What there was before the first mount. */
  readonly begin: Snapshot;

  constructor(recorded: RecordedStage, folder: string, begin: Snapshot) {
    this.recorded = recorded;
    this.folder = folder;
    this.begin = begin;
  }

  /** From now on a kind of calls fails for files whose path ends so. */
  fail(call: 'sync' | 'write', errno: number, ...ends: string[]): void {
    writeFileSync(this.recorded.fails, ends.map((end) => `${call} ${errno} ${end}\n`).join(''));
  }

  mend(): void {
    rmSync(this.recorded.fails);
  }

  agent(): Promise<Agent> {
    return this.recorded.stage.agent();
  }

  get log(): string {
    return readFileSync(join(this.recorded.stage.store, 'daemon.log'), 'utf8');
  }

  get record(): Recorded {
    const { roots, stage, record, marks } = this.recorded;
    const [root, , plain] = roots;
    return { entries: readRecord(record), begin: this.begin, root, store: stage.store, marks, plain };
  }
}

const onFailingDisk = (body: (disk: FailingDisk) => Promise<void>) => async () => {
  const user = somebody();
  const recorded = await RecordedStage.open(user);
  try {
    const begin = snapshotOf(recorded.roots);
    await withDeadline(SECONDS, [user.home], async () =>
      body(new FailingDisk(recorded, await recorded.mount(), begin)),
    );
  } finally {
    await recorded.stage.close();
  }
};

test(
  'every call that is to wait for the disk waits for the store, and fails as the disk does',
  onFailingDisk(async (disk) => {
    const program = shared('sync_calls.py', join(import.meta.dirname, 'sync_calls.py'));
    const results = async (): Promise<Record<string, string>> => {
      const text = await disk.recorded.stage.sh('/usr/bin/python3 "$@"', program, disk.folder);
      const lines = text.trim().split('\n');
      return Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]));
    };
    const good = await results();
    expect(new Set(Object.values(good))).toEqual(new Set(['done']));
    disk.fail('sync', EIO, LOG);
    // Linux asks only some FUSE servers for syncfs(2), and a plain write does not wait.
    const expected = Object.keys(good).map((name) => [name, ['syncfs', 'write'].includes(name) ? 'done' : 'EIO']);
    expect(await results()).toEqual(Object.fromEntries(expected));
    disk.mend();
    expect(await results()).toEqual(good);
  }),
  (SECONDS + 30) * 1000,
);

test(
  'what a sync failed to bring to the disk is there once a later one succeeds, wherever the power goes then',
  onFailingDisk(async (disk) => {
    const { recorded } = disk;
    const agent = await disk.agent();
    let line = 0;
    const write = async (count = 1): Promise<void> => {
      for (let i = 0; i < count; i++) {
        await recorded.mark({ by: 'held', writes: ++line, file: 'held.md' });
        const append = (fs: typeof import('node:fs'), own: Record<string, number>, path: string, text: string) => {
          own['fd'] ??= fs.openSync(path, 'a');
          fs.writeSync(own['fd'], text);
        };
        await agent.run(append, `${disk.folder}/held.md`, `line ${line}\n`);
      }
    };
    const sync = (): Promise<string | undefined> => agent.code((fs, own) => fs.fsyncSync(own['fd'] ?? -1));
    await write(3);
    expect(await sync()).toBeUndefined();
    await recorded.mark({ by: 'held', kept: line, file: 'held.md' });

    disk.fail('sync', EIO, LOG);
    await write(3);
    expect(await sync()).toBe('EIO');
    // It has not become true by having failed once.
    expect(await sync()).toBe('EIO');
    await write(2);
    disk.mend();
    expect(await sync()).toBeUndefined();
    await recorded.mark({ by: 'held', kept: line, file: 'held.md' });
    await write(2);

    const random = new Random(SEED);
    const { record } = disk;
    const check = (left: Left) => keepsPromises(record, left);
    const cut = (entries: readonly Entry[], most?: number) =>
      cutPower({ ...record, entries }, 'strict', choosePoints(entries, 200, random), random, check, most);
    expect(await cut(record.entries)).toEqual([]);
    // The check finds a log that was not written again.
    const isAgain = ({ op, path, length }: Entry): boolean => op === 'write' && path.endsWith(LOG) && length > 4096;
    expect(record.entries.filter(isAgain).length).toBeGreaterThan(0);
    expect(
      await cut(
        record.entries.filter((entry) => !isAgain(entry)),
        1,
      ),
    ).toHaveLength(1);
  }),
  (SECONDS + 30) * 1000,
);

/** Saves that make the log so long that it is moved into the database; what the files hold then. */
function saveMuch(agent: Agent, folder: string, name: string): Promise<Record<string, string>> {
  return agent.run(
    (fs, _, dir, stem) => {
      const texts: Record<string, string> = {};
      for (let turn = 0; turn < 24; turn++) {
        const text = `${stem} ${turn} `.repeat(20_000);
        fs.writeFileSync(`${dir}/${stem}-${turn % 6}.md`, text);
        texts[`${stem}-${turn % 6}.md`] = text;
      }
      return texts;
    },
    folder,
    name,
  );
}

test.each([
  ['syncs of the log', 'sync', LOG],
  ['syncs of the database', 'sync', DATABASE],
  ['writes to the database', 'write', DATABASE],
] as const)(
  '%s that fail while the log is moved into the database cost nobody anything, wherever the power goes then',
  (_, call, end) =>
    onFailingDisk(async (disk) => {
      const agent = await disk.agent();
      disk.fail(call, EIO, end);
      await saveMuch(agent, disk.folder, 'failing');
      await until(() => disk.log.includes('store could not be looked after'), 'the care of the store to fail', 20_000);
      disk.mend();
      const texts = await saveMuch(agent, disk.folder, 'mended');
      const sync = (fs: typeof import('node:fs'), _: unknown, path: string): void => {
        const fd = fs.openSync(path, 'r');
        fs.fsyncSync(fd);
        fs.closeSync(fd);
      };
      expect(await agent.code(sync, disk.folder)).toBeUndefined();
      await disk.recorded.step(texts, async () => undefined);
      await disk.recorded.say({ synced: 1 });
      await saveMuch(agent, disk.folder, 'later');
      await disk.recorded.rest();
      const { stage } = disk.recorded;
      await stage.mend(['store', 'check']);
      expect(disk.log).not.toContain('the server died');
      const random = new Random(SEED);
      const { record } = disk;
      const points = choosePoints(record.entries, 30, random);
      expect(await cutPower(record, 'strict', points, random, (left) => keepsPromises(record, left))).toEqual([]);
    })(),
  (SECONDS + 30) * 1000,
);

test.each([
  ['EIO', EIO],
  ['ENOSPC', ENOSPC],
])(
  'a write to the log that fails with %s fails so for the caller, and leaves what was there',
  (name, errno) =>
    onFailingDisk(async (disk) => {
      const { stage } = disk.recorded;
      const agent = await disk.agent();
      const path = `${disk.folder}/note.md`;
      const save = (text: string): Promise<string | undefined> =>
        agent.code((fs, _, file, content) => fs.writeFileSync(file, content), path, text);
      const other = `${disk.folder}/other.md`;
      expect(await save('old\n')).toBeUndefined();
      await agent.run((fs, own, file) => {
        own['open'] = fs.openSync(file, 'w');
        fs.writeSync(own['open'], 'written\n');
      }, other);

      disk.fail('write', errno, LOG);
      expect(await save('new\n')).toBe(name);
      expect(await agent.code((fs, own) => fs.closeSync(own['open'] ?? -1))).toBe(name);
      for (const work of [
        (fs: typeof import('node:fs'), _: unknown, dir: string) => fs.mkdirSync(`${dir}/folder`),
        (fs: typeof import('node:fs'), _: unknown, dir: string) => fs.unlinkSync(`${dir}/note.md`),
        (fs: typeof import('node:fs'), _: unknown, dir: string) => fs.renameSync(`${dir}/note.md`, `${dir}/b.md`),
      ])
        expect(await agent.code(work, disk.folder)).toBe(name);
      expect(await stage.sh('cat "$1"', path)).toBe('old\n');
      expect((await stage.status()).mounts).toHaveLength(1);

      disk.mend();
      expect(await stage.sh('cat "$1"', path)).toBe('old\n');
      expect(await save('new\n')).toBeUndefined();
      expect(await stage.sh('cat "$1"; ls "$2"', path, disk.folder)).toBe('new\nnote.md\nother.md\n');
      // What could not be saved when it was closed is not lost.
      await disk.recorded.rest();
      const log = await stage.log('other.md');
      const texts = await Promise.all(log.map(({ version }) => stage.show('other.md', version)));
      expect(texts).toContain('written\n');
      expect((await stage.mend(['store', 'check'])).code).toBe(0);
      expect(disk.log).not.toContain('the server died');
    })(),
  (SECONDS + 30) * 1000,
);

test(
  'a daemon that ends while the disk fails leaves its log; one that ends before all was written again writes it first',
  onFailingDisk(async (disk) => {
    const { stage } = disk.recorded;
    const files = (): string[] => readdirSync(stage.store, { recursive: true, encoding: 'utf8' });
    const left = (): string[] => files().filter((name) => /^store\.db-wal$|\.open$/.test(name));
    const failures = (): number => disk.log.split('store could not be looked after').length - 1;
    const failing = async (name: string): Promise<Record<string, string>> => {
      const agent = await disk.agent();
      const before = failures();
      disk.fail('sync', EIO, DATABASE);
      const texts = await saveMuch(agent, disk.folder, name);
      // The next attempt is seconds away.
      await until(() => failures() >= before + 3, 'the care of the store to fail again and again', 30_000);
      return texts;
    };
    const first = await failing('first');
    await disk.recorded.rest();
    expect(disk.log).toContain('the disk with the store fails: its log stays beside it');
    expect(left()).toHaveLength(2);

    disk.mend();
    await disk.recorded.mount();
    for (const [name, text] of Object.entries(first)) expect(await stage.show(name)).toBe(text);
    const second = await failing('second');
    disk.mend();
    await disk.recorded.rest();
    const [failed, again] = ['could not be looked after', 'was written again'].map((what) =>
      disk.log.lastIndexOf(what),
    );
    expect(again).toBeGreaterThan(failed ?? 0);
    expect(left()).toEqual([]);
    await stage.mend(['store', 'check']);
    for (const [name, text] of Object.entries(second)) expect(await stage.show(name)).toBe(text);
  }),
  (SECONDS + 30) * 1000,
);
