import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import type { CarriedPlace } from '../../src/import/carrier.js';
import { codexCarrier } from '../../src/import/codex/carrier.js';
import { DEFAULT_CODEX_LIMITS } from '../../src/import/codex/codex-limits.js';
import { copySummaries } from '../../src/import/codex/summary-database.js';
import { summaryFile } from '../../src/import/codex/summary-file.js';
import { DEFAULT_LIMITS } from '../../src/ports/limits.js';
import { carried } from '../../src/store/carried.js';
import { MemoryFiles } from '../../src/store/memory-files.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { openStore } from '../store/fresh-store.js';
import { CodexHome, MADE, threadOf } from './codex-home.js';

const V2 = 'memories_v2_1.sqlite';
const limits = { ...DEFAULT_LIMITS, ...DEFAULT_CODEX_LIMITS, conversationBytes: 1024 * 1024 };

let store: Store;
let tree: TreeRow;

beforeEach(() => {
  store = openStore();
  const { id } = store.write(() => store.projects.create(['app'], store.now));
  tree = store.treeOf(id, 'codex');
});

let homes = 0;
const freshHome = (): CodexHome => new CodexHome().mark(`home-${++homes}`);
const placeOf = (home: CodexHome, root = 'memories_v2'): CarriedPlace => ({
  ...{ tree, home: home.path, folder: join(home.path, root), checkout: '/srv/app' },
});
const take = (home: CodexHome) => codexCarrier.take(store, placeOf(home), limits);
const bring = (home: CodexHome, root?: string) => codexCarrier.bring(store, placeOf(home, root), limits);
const stored = (): Record<number, string> =>
  Object.fromEntries(
    carried(store.db)
      .summaries.of(tree.id)
      .map(({ thread, row }) => [Number(thread.slice(-12)), JSON.parse(row).rollout_summary]),
  );

describe('summaries', () => {
  it('reach a new home, whose database is made, and stay known there', async () => {
    const first = freshHome().sumUp({ of: 1, says: 'one' }).sumUp({ of: 2, says: 'two' });
    expect(await take(first)).toEqual([]);
    const second = freshHome();
    expect(await bring(second)).toEqual([]);
    expect(second.says()).toEqual({ 1: 'one', 2: 'two' });
    const db = second.open();
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(db.prepare('SELECT max(version) FROM _sqlx_migrations').pluck().get()).toBe(2);
    db.close();
    // Codex drops what it knows no conversation of.
    expect(Object.keys(second.held())).toEqual(['1', '2']);
    expect(readdirSync(second.path).filter((name) => name.startsWith('.mend.copy'))).toEqual([]);
  });

  it('made while a shared session used the home are never taken, nor what it changed of others', async () => {
    const home = freshHome().sumUp({ of: 1, says: 'one' }).sumUp({ of: 2, says: 'two' });
    await take(home);
    home
      .sumUp({ of: 2, says: 'shared two', updated: MADE + 50 })
      .sumUp({ of: 3, says: 'shared three', updated: MADE + 50 });
    await codexCarrier.withhold(store, placeOf(home), (MADE + 20) * 1e6);
    home.sumUp({ of: 4, says: 'four', updated: MADE + 60 });
    expect(await take(home)).toEqual([]);
    expect(await bring(home)).toEqual([]);
    expect(stored()).toEqual({ 1: 'one', 2: 'two', 4: 'four' });
    expect(home.says()).toMatchObject({ 2: 'shared two', 3: 'shared three' });
  });

  it('of two homes are put together by conversation, the newer one of each', async () => {
    const one = freshHome()
      .sumUp({ of: 1, says: 'one' })
      .sumUp({ of: 2, says: 'old', updated: MADE - 5 });
    const other = freshHome().sumUp({ of: 2, says: 'new', updated: MADE }).sumUp({ of: 3, says: 'three' });
    for (const home of [one, other, one]) await bring(home);
    expect(one.says()).toEqual({ 1: 'one', 2: 'new', 3: 'three' });
    expect(other.says()).toEqual(one.says());
    expect(stored()).toEqual(one.says());
  });

  it('that Codex drops in one home are dropped everywhere, unless they were changed elsewhere', async () => {
    const updated = Math.floor(Date.now() / 1000) - 3600;
    const one = freshHome().sumUp({ of: 1, updated }).sumUp({ of: 2, updated });
    const other = freshHome();
    for (const home of [one, other]) await bring(home);
    one.drop(1).drop(2);
    other.sumUp({ of: 2, says: 'more', updated: updated + 9 });
    for (const home of [one, other, one]) await bring(home);
    expect(stored()).toEqual({ 2: 'more' });
    expect(one.says()).toEqual({ 2: 'more' });
    expect(other.says()).toEqual({ 2: 'more' });
  });

  it('that Codex drops for their age stay, by what its settings call old, unless their conversation was deleted', async () => {
    const days = (count: number): number => Math.floor(Date.now() / 1000) - count * 24 * 3600;
    const home = freshHome();
    for (const [of, age] of [20, 60, 60].entries()) home.sumUp({ of, updated: days(age) });
    await bring(home);
    for (const name of readdirSync(home.path, { recursive: true, encoding: 'utf8' }))
      if (name.includes(threadOf(2))) rmSync(join(home.path, name));
    for (const of of [0, 1, 2]) home.drop(of);
    await bring(home);
    expect(stored()).toEqual({ 1: 'said' });
    expect(home.says()).toEqual({});
    const strict = freshHome();
    writeFileSync(join(strict.path, 'config.toml'), '[memories]\nmax_unused_days = 10\n');
    strict.sumUp({ of: 0, updated: days(20) });
    await bring(strict);
    strict.drop(0);
    await bring(strict);
    expect(stored()).toEqual({ 0: 'said', 1: 'said' });
    // It is summed up again, as the conversation went on.
    home.sumUp({ of: 1, says: 'more', updated: days(1) });
    await bring(home);
    expect(stored()).toEqual({ 0: 'said', 1: 'more' });
  });

  it('are not lost with a database or a home that is gone, or that Codex makes anew', async () => {
    const home = freshHome().sumUp({ of: 1, says: 'one' });
    await take(home);
    for (const name of readdirSync(home.path).filter((one) => one.startsWith(V2))) rmSync(join(home.path, name));
    await bring(home);
    expect(home.says()).toEqual({ 1: 'one' });
    for (const name of readdirSync(home.path).filter((one) => one.startsWith(V2))) rmSync(join(home.path, name));
    home.open(V2, '2027-01-01 00:00:00').close();
    await bring(home);
    expect(home.says()).toEqual({ 1: 'one' });
    expect(stored()).toEqual({ 1: 'one' });
  });

  it('go on from one version of the memory to the other', async () => {
    const home = freshHome().sumUp({ of: 1, says: 'one' });
    home.open('memories_1.sqlite').close();
    await bring(home);
    expect(home.says('memories_1.sqlite')).toEqual({});
    await bring(home, 'memories');
    expect(home.says('memories_1.sqlite')).toEqual({ 1: 'one' });
  });

  it('are forgotten in homes when their file was removed from memory', async () => {
    const home = freshHome().sumUp({ of: 1 }).sumUp({ of: 2 });
    await take(home);
    const file = Buffer.from(`thread_id: ${threadOf(1)}\nupdated_at: 2026\n\nsaid\n`);
    codexCarrier.removed(store, tree, 'rollout_summaries/a.md', file);
    codexCarrier.removed(store, tree, 'MEMORY.md', Buffer.from(`thread_id: ${threadOf(2)}\n`));
    await bring(home);
    expect(home.says()).toEqual({ 2: 'said' });
  });

  it('stay when the file of an earlier one of the same conversation is removed', async () => {
    const home = freshHome().sumUp({ of: 1, updated: MADE + 60 });
    await take(home);
    const at = (seconds: number): Buffer =>
      Buffer.from(
        `thread_id: ${threadOf(1)}\nupdated_at: ${new Date(seconds * 1000).toISOString().slice(0, 19)}+00:00\n\nsaid\n`,
      );
    codexCarrier.removed(store, tree, 'rollout_summaries/earlier.md', at(MADE));
    expect(stored()).toEqual({ 1: 'said' });
    codexCarrier.removed(store, tree, 'rollout_summaries/now.md', at(MADE + 60));
    expect(stored()).toEqual({});
  });

  it('are counted by Codex in each home for itself', async () => {
    const home = freshHome().sumUp({ of: 1 });
    const use = (one: CodexHome, sql: string) => {
      const db = one.open();
      db.exec(sql);
      db.close();
    };
    use(
      home,
      'UPDATE stage1_outputs SET usage_count = 7, selected_for_phase2 = 1, selected_for_phase2_source_updated_at = 5',
    );
    use(home, 'UPDATE consolidation_progress SET max_thread_count = 4');
    await take(home);
    const other = freshHome();
    await bring(other);
    const db = other.open();
    const row = db.prepare('SELECT usage_count, selected_for_phase2 AS selected FROM stage1_outputs').get();
    expect(row).toEqual({ usage_count: 7, selected: 0 });
    expect(db.prepare('SELECT max_thread_count FROM consolidation_progress').pluck().get()).toBe(4);
    db.close();
  });
});

describe('a database', () => {
  it('over 16 MB is refused by name, and what is in the store stays', async () => {
    const home = freshHome().sumUp({ of: 1, says: 'one' });
    await take(home);
    home.sumUp({ of: 2, says: 'x'.repeat(17 * 1024 * 1024) });
    const [refused] = await take(home);
    expect(refused).toEqual({ path: V2, reason: expect.stringMatching(/^is over the limit of 16777216 bytes/) });
    expect(codexCarrier.refused(store, placeOf(home))).toEqual([refused]);
    expect(stored()).toEqual({ 1: 'one' });
    home.drop(2).sumUp({ of: 3, says: 'x'.repeat(99_999) });
    const little = { ...limits, summaryBytes: 50_000 };
    expect(await codexCarrier.take(store, placeOf(home), little)).toEqual([
      { path: V2, reason: expect.stringMatching(/^is over the limit of 50000 bytes/) },
    ]);
    home.drop(3);
    expect(await take(home)).toEqual([]);
    expect(codexCarrier.refused(store, placeOf(home))).toEqual([]);
  });

  it('of homes that together are over the limit is refused, too', async () => {
    await take(freshHome().sumUp({ of: 1, says: 'x'.repeat(9 * 1024 * 1024) }));
    const [refused] = await take(freshHome().sumUp({ of: 2, says: 'y'.repeat(9 * 1024 * 1024) }));
    expect(refused).toMatchObject({ path: V2 });
    expect(Object.keys(stored())).toEqual(['1']);
  });

  it('that is none, is damaged, or has other tables does no harm', async () => {
    const home = freshHome();
    writeFileSync(join(home.path, V2), 'no database at all, and longer than a header of one has to be'.repeat(99));
    const refused = [{ path: V2, reason: expect.stringMatching(/^is damaged: /) }];
    expect(await take(home)).toEqual(refused);
    const other = new Database(join(home.path, 'memories_1.sqlite'));
    other.exec('CREATE TABLE stage1_outputs (a)');
    other.close();
    expect(await bring(home)).toEqual(refused);
    expect(stored()).toEqual({});
  });

  it('is copied whole while another process writes it without a pause', { timeout: 180_000 }, async () => {
    const home = freshHome().sumUp({ of: 1 });
    // Two rows in one transaction always say the same.
    const writer = spawn(process.execPath, ['--input-type=module', '-e', WRITER], {
      env: { ...process.env, FILE: join(home.path, V2) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(writer.stdout, 'data');
    const seen = new Set<string>();
    try {
      for (let i = 0; i < 25; i++) {
        const copy = await copySummaries(join(home.path, V2), 64 * 1024 * 1024);
        const [one, other] = [8, 9].map((of) => JSON.parse(copy?.rows.get(threadOf(of))?.row ?? '{}').rollout_summary);
        expect(one).toBeTypeOf('string');
        expect(one).toBe(other);
        seen.add(one);
      }
      expect(writer.exitCode).toBeNull();
    } finally {
      writer.kill('SIGKILL');
      await once(writer, 'exit');
    }
    expect(seen.size).toBeGreaterThan(3);
    // What the writer left behind, with its log, is whole, too.
    expect(existsSync(join(home.path, `${V2}-wal`))).toBe(true);
    expect(await take(home)).toEqual([]);
    expect(Object.keys(stored())).toEqual(['1', '8', '9']);
  });
});

const WRITER = `
import Database from '${new URL('../../node_modules/better-sqlite3/lib/index.js', import.meta.url).pathname}';
const db = new Database(process.env.FILE, { timeout: 20000 });
const put = db.prepare('INSERT OR REPLACE INTO stage1_outputs (thread_id, source_updated_at, raw_memory, rollout_summary, generated_at) VALUES (?, 1, ?, ?, 1)');
const both = db.transaction((n) => {
  for (const of of ['${threadOf(8)}', '${threadOf(9)}']) put.run(of, 'x'.repeat(20000 + (n % 7) * 9000), 'round ' + n);
});
for (let n = 0; ; n++) { both(n); if (n === 3) process.stdout.write('writing'); }
`;

it('what lies in a folder of the other version is taken in, and put out of the way', async () => {
  const home = freshHome();
  mkdirSync(join(home.path, 'other-memories/memories.1'), { recursive: true });
  writeFileSync(join(home.path, 'other-memories/memories.1/MEMORY.md'), 'notes of version 1\n');
  await bring(home);
  const file = new MemoryFiles(store, tree).find('MEMORY.md');
  expect(file && store.content(file.content).toString()).toBe('notes of version 1\n');
  expect(readdirSync(join(home.path, 'other-memories'))).toEqual([]);
});

it('a summary has the name and the text that Codex gives it', () => {
  // As Codex 0.171.0 wrote them for this conversation.
  const thread = '01a223c6-b8bb-7662-b1d4-1971b7f7ee2b';
  const columns = { thread_id: thread, rollout_summary: '# A summary', rollout_slug: 'Stub slug!' };
  const meta = { id: thread, timestamp: '2026-11-28T20:09:15.707Z', cwd: '/srv/app', git: { branch: 'main' } };
  const file = summaryFile({ thread, updated: 1_795_896_555, row: JSON.stringify(columns) }, meta, '/home/u/.codex');
  expect(file.path).toBe('rollout_summaries/2026-11-28T20-09-15-Sy9B-stub_slug.md');
  expect(file.bytes.toString()).toBe(`thread_id: ${thread}
updated_at: 2026-11-28T20:09:15+00:00
rollout_path: /home/u/.codex/sessions/2026/11/28/rollout-2026-11-28T20-09-15-${thread}.jsonl
cwd: /srv/app
git_branch: main

# A summary
`);
});
