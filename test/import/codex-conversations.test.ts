import { appendFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { codexCarrier } from '../../src/import/codex/carrier.js';
import { DEFAULT_CODEX_LIMITS } from '../../src/import/codex/codex-limits.js';
import { DEFAULT_LIMITS } from '../../src/ports/limits.js';
import { carried } from '../../src/store/carried.js';
import { EVERYWHERE } from '../../src/store/projects.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { openStore } from '../store/fresh-store.js';
import { CodexHome, threadOf } from './codex-home.js';

const ORIGIN = 'https://forge.example/ann/app.git';
const OTHER = 'git@forge.example:ann/other.git';

let store: Store;
let tree: TreeRow;
let limits = { ...DEFAULT_LIMITS, ...DEFAULT_CODEX_LIMITS, conversationBytes: 1024 * 1024 };

beforeEach(() => {
  store = openStore();
  limits = { ...limits, conversations: 20, conversationBytes: 1024 * 1024 };
  const project = store.write(() => {
    const { id } = store.projects.create(['app'], store.now);
    store.projects.addAlias(id, { kind: 'remote', machine: EVERYWHERE, value: 'forge.example/ann/app' });
    store.projects.addAlias(id, { kind: 'path', machine: store.machine, value: '/srv/app' });
    return id;
  });
  tree = store.treeOf(project, 'codex');
});

let homes = 0;
const freshHome = (): CodexHome => new CodexHome().mark(`home-${++homes}`);
const placeOf = (home: CodexHome) => ({
  ...{ tree, home: home.path, folder: join(home.path, 'memories_v2'), checkout: '/srv/app' },
});
const take = (home: CodexHome) => codexCarrier.take(store, placeOf(home), limits);
const bring = (home: CodexHome) => codexCarrier.bring(store, placeOf(home), limits);
/** Last digits of the conversations in the store, newest first. */
const stored = (): number[] =>
  carried(store.db)
    .conversations.of(tree.id)
    .map(({ thread }) => Number(thread.slice(-12)));
const textOf = (of: number): string => carried(store.db).conversations.bytes(tree.id, threadOf(of)).toString();

describe('conversations', () => {
  it('of the project go to a new home, by their origin, else by their folder', async () => {
    const home = freshHome()
      .hold(1, ['{"said":1}'], { origin: ORIGIN, cwd: '/elsewhere', age: 1 })
      .hold(2, ['{"said":2}'], { cwd: '/srv/app/sub', age: 2 })
      .hold(3, ['{"said":3}'], { origin: OTHER, cwd: '/srv/app', age: 3 })
      .hold(4, ['{"said":4}'], { cwd: '/srv/apple', age: 4 })
      .hold(5, ['{"said":5}'], { origin: 'ssh://git@FORGE.example:22/ann/app', cwd: '/x', age: 5 });
    await take(home);
    expect(stored()).toEqual([1, 2, 5]);
    const other = freshHome();
    await bring(other);
    expect(Object.keys(other.held())).toEqual(['1', '2', '5']);
    expect(other.held()[1]).toBe(home.held()[1]);
  });

  it('are as many as the settings say, the newest ones', async () => {
    const home = freshHome();
    for (let of = 1; of <= 5; of++) home.hold(of, ['{}'], { origin: ORIGIN, age: 10 - of });
    limits = { ...limits, conversations: 3 };
    await take(home);
    expect(stored()).toEqual([5, 4, 3]);
    home.hold(6, ['{}'], { origin: ORIGIN, age: 0 });
    await take(home);
    expect(stored()).toEqual([6, 5, 4]);
    limits = { ...limits, conversations: 0 };
    await take(home);
    expect(stored()).toEqual([]);
  });

  it('have as many bytes together as the settings say', async () => {
    const line = JSON.stringify('x'.repeat(40_000));
    const home = freshHome();
    for (let of = 1; of <= 4; of++) home.hold(of, [line], { origin: ORIGIN, age: 10 - of });
    limits = { ...limits, conversationBytes: 100_000 };
    await take(home);
    expect(stored()).toEqual([4, 3]);
  });

  it('that were held while a shared session used the home are never taken, and those before it stay', async () => {
    const home = freshHome().hold(1, ['{"said":1}'], { origin: ORIGIN, age: 9 });
    home.hold(2, ['{"said":2}'], { origin: ORIGIN, age: 8 });
    await take(home);
    const since = store.now - 500_000;
    home.hold(1, ['{"said":1}', '{"shared":1}'], { origin: ORIGIN, age: 0 });
    home.hold(3, ['{"shared":3}'], { origin: ORIGIN, age: 0 });
    await codexCarrier.withhold(store, placeOf(home), since);
    home.hold(3, ['{"shared":3}', '{"later":3}'], { origin: ORIGIN, age: 0 });
    home.hold(4, ['{"said":4}'], { origin: ORIGIN, age: 0 });
    await take(home);
    expect(stored().sort()).toEqual([1, 2, 4]);
    expect(textOf(1)).not.toContain('shared');
    rmSync(join(home.path, home.placeOf(1)));
    await take(home);
    expect(stored().sort()).toEqual([1, 2, 4]);
  });

  it('grow with what is said, and a line that is not whole waits', async () => {
    const home = freshHome().hold(1, ['{"said":1}'], { origin: ORIGIN, age: 9 });
    await take(home);
    const other = freshHome();
    await bring(other);
    appendFileSync(join(home.path, home.placeOf(1)), '{"said":2}\n{"sai');
    await take(home);
    expect(textOf(1)).toMatch(/\{"said":1\}\n\{"said":2\}\n$/);
    const parts = store.db.prepare('SELECT count(*) FROM conversation_part').pluck().get();
    expect(parts).toBe(2);
    await bring(other);
    expect(other.held()[1]).toBe(textOf(1));
  });

  it('that were held on with in two homes are not mixed: the later one counts', async () => {
    const one = freshHome().hold(1, ['{"said":1}'], { origin: ORIGIN, age: 9 });
    await take(one);
    const other = freshHome();
    await bring(other);
    one.hold(1, ['{"said":1}', '{"here":1}'], { origin: ORIGIN, age: 5 });
    other.hold(1, ['{"said":1}', '{"there":1}'], { origin: ORIGIN, age: 2 });
    for (const home of [one, other, one]) await bring(home);
    expect(textOf(1)).toContain('there');
    expect(one.held()[1]).toContain('here');
  });

  it('that are deleted in a home are deleted; archived ones, and those of a home that is gone, are not', async () => {
    const home = freshHome();
    for (const of of [1, 2, 3]) home.hold(of, ['{}'], { origin: ORIGIN, age: of });
    await take(home);
    rmSync(join(home.path, home.placeOf(1)));
    renameSync(join(home.path, 'sessions/2026/09/21'), join(home.path, 'archived_sessions'));
    await bring(home);
    expect(stored()).toEqual([2, 3]);
    expect(Object.keys(home.held())).toEqual(['2', '3']);
    await bring(freshHome());
    expect(stored()).toEqual([2, 3]);
  });

  it('that Codex has compressed are not deleted, nor placed again beside', async () => {
    const home = freshHome().sumUp({ of: 2 });
    for (const of of [1, 2]) home.hold(of, ['{}'], { origin: ORIGIN, age: of });
    await take(home);
    for (const of of [1, 2]) renameSync(join(home.path, home.placeOf(of)), join(home.path, `${home.placeOf(of)}.zst`));
    await bring(home);
    expect(stored()).toEqual([1, 2]);
    expect(home.held()).toEqual({});
    // It is held on with: Codex has it as a plain file again.
    home.hold(1, ['{}', '{"said":1}'], { origin: ORIGIN });
    await take(home);
    expect(textOf(1)).toContain('said');
    rmSync(join(home.path, home.placeOf(1)));
    rmSync(join(home.path, `${home.placeOf(1)}.zst`));
    await take(home);
    expect(stored()).toEqual([2]);
  });

  it('stand with their first line for summaries whose conversation is not carried', async () => {
    limits = { ...limits, conversations: 0 };
    const home = freshHome()
      .sumUp({ of: 1 })
      .sumUp({ of: 2 })
      .hold(1, ['{"said":1}'], { origin: ORIGIN, cwd: '/srv/app' });
    await take(home);
    const other = freshHome();
    await bring(other);
    const held = other.held();
    expect(Object.keys(held)).toEqual(['1', '2']);
    const lines = Object.values(held).map((text) => text.trimEnd().split('\n'));
    expect(lines.map((all) => all.length)).toEqual([1, 1]);
    const [first, second] = lines.map(([line = '']) => JSON.parse(line));
    expect(first).toMatchObject({ type: 'session_meta', payload: { id: threadOf(1), cwd: '/srv/app', source: 'cli' } });
    expect(first.payload.git).toEqual({ repository_url: ORIGIN });
    expect(first.payload).not.toHaveProperty('base_instructions');
    expect(second.payload).toMatchObject({ id: threadOf(2), cwd: '/srv/app' });
    // They are no conversations, and are not carried as such.
    limits = { ...limits, conversations: 20 };
    await take(other);
    expect(stored()).toEqual([]);
  });
});
