import { PURGED } from './feed.js';
import { PurgeRows } from './purge-rows.js';
import type { Store } from './store.js';

/** What was forgotten with a project. */
export interface Forgotten {
  readonly files: number;
  readonly versions: number;
}

/**
 * Deletes a project with its memory, its history and all that identifies it. Bytes that other projects have too stay
 * with them. The pages of the database and its log may still have traces: `scrub` wipes them. For use within
 * `store.write`, when nothing of the project is mounted.
 */
export function forgetProject(store: Store, project: number): Forgotten {
  const { db } = store;
  const count = (sql: string, ...values: number[]): number =>
    (db
      .prepare(sql)
      .pluck()
      .get(...values) as number) ?? 0;
  const { files } = store.trees.usage(project);
  let versions = 0;
  const trees = store.trees.ofProject(project);
  for (const { id } of trees) {
    versions += count('SELECT count(*) FROM version WHERE tree = ?', id);
    const idsOf = (table: 'draft' | 'node'): number[] =>
      db.prepare(`SELECT id FROM ${table} WHERE tree = ?`).pluck().all(id) as number[];
    for (const draft of idsOf('draft')) store.deleteDraft(draft, Number.POSITIVE_INFINITY);
    for (const node of idsOf('node')) store.deleteLocal(node);
    // The rest of its rows goes with it.
    db.prepare('DELETE FROM tree WHERE id = ?').run(id);
  }
  store.feed.forgetVacated();
  for (const { id } of trees) store.recordChange(id, PURGED);
  store.projects.remove(project);
  for (let ids = store.contents.unreferenced([]); ids.length > 0; ids = store.contents.unreferenced([]))
    store.contents.sweep(ids, []);
  store.contents.sweep([], []);
  new PurgeRows(db).markUnscrubbed();
  store.contents.forget();
  return { files, versions };
}
