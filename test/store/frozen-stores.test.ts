import { chmodSync, copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { recoverDrafts, removeUnfinished } from '../../src/daemon/recovery.js';
import { checkDatabase } from '../../src/store/check/check-database.js';
import { checkStore } from '../../src/store/check/check-store.js';
import { MemoryFiles } from '../../src/store/memory-files.js';
import { newestSchema } from '../../src/store/migrate.js';
import { Store } from '../../src/store/store.js';
import { freshFolder } from './fresh-store.js';
import { FROZEN, frozen, headsOf } from './frozen.js';

test('there is one of each schema but the newest', () => {
  expect(FROZEN).toEqual(Array.from({ length: newestSchema() - 1 }, (_, i) => i + 1));
});

/** A fresh folder with the store of a schema. */
function thaw(schema: number): string {
  const folder = freshFolder();
  copyFileSync(frozen(schema), join(folder, 'store.db'));
  chmodSync(join(folder, 'store.db'), 0o600);
  return folder;
}

describe.each(FROZEN)('a store of schema %i', (schema) => {
  test('is sound, and is looked at without being changed', () => {
    const folder = thaw(schema);
    expect(checkStore(folder)).toMatchObject({ schema, faults: [] });
    expect(readdirSync(folder)).toEqual(['store.db']);
  });

  test('has all that it had when it is brought up to date', () => {
    const folder = thaw(schema);
    const machine = () => ({ machineId: '7'.padStart(32, '0'), name: 'greenhouse' });
    const store = new Store(folder, { create: false, owner: 'test', machine });
    try {
      expect(store.db.pragma('user_version', { simple: true })).toBe(newestSchema());
      expect(checkDatabase(store.db)).toEqual([]);
      const [project] = store.projects.list(store.machine);
      expect(project).toMatchObject({
        name: 'garden',
        paths: ['/home/ada/garden', '/home/ada/second'],
        remotes: ['example.org/ada/garden'],
      });
      const [tree] = store.trees.ofProject(project?.id ?? 0);
      if (!tree) throw new Error('no tree');

      expect(recoverDrafts(store, () => false)).toBe(2);
      removeUnfinished(store);
      const files = new MemoryFiles(store, tree);
      const heads = files.list().map(({ path, content }) => [path, store.content(content).toString()]);
      expect(Object.fromEntries(heads)).toEqual(headsOf(schema));

      const history = (path: string) =>
        store.versions.of(tree.id, path).map(({ kind, content }) => [kind, store.content(content).toString()]);
      const saves = ['third\n', 'second\n', 'first\n'].map((text) => ['saved', text]);
      expect(history('saved.md')).toEqual(schema === 1 ? saves : [['restored', 'first\n'], ...saves]);
      for (const path of ['removed.md', 'listed.md'])
        expect(history(path).map(([kind]) => kind)).toEqual(['removed', 'saved']);
      expect(history('draft.md')).toEqual([['interrupted', 'half a li']]);
      expect(history('soil.md')[0]).toEqual([
        'interrupted',
        (headsOf(schema)['soil.md'] ?? '').replace('Clay', 'CLAY').replace('heavy', 'he!vy'),
      ]);
      expect(history('new-name.md')).toEqual([['saved', 'named\n']]);

      const own = '/home/ada/.claude/projects/-home-ada-garden/memory';
      expect(store.bases.get(store.machine, own, tree.id, 'soil.md')).toMatchObject({ path: 'soil.md' });
      const rows = (sql: string) => store.db.prepare(sql).pluck().all();
      expect(rows('SELECT count(*) FROM draft UNION ALL SELECT count(*) FROM draft_write')).toEqual([0, 0]);
      if (schema >= 2) {
        expect(history('both.md').map(([kind]) => kind)).toEqual(['merged', 'saved', 'saved']);
        expect(rows('SELECT size FROM purged')).toEqual([21]);
      }
      if (schema >= 3) {
        expect(history('plan.json')[0]).toEqual(['conflict', '{"rows": 2}\n']);
        expect(rows('SELECT path FROM import_dispute')).toEqual(['plan.json']);
        expect(rows('SELECT count(*) FROM secret_scan')).toEqual([7]);
      }
    } finally {
      store.close();
    }
    expect(readdirSync(folder).sort()).toEqual(['store.db', `store.db.schema-${schema}.backup`]);
  });
});
