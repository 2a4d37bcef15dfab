import { log } from '../log.js';
import type { Store } from '../store/store.js';

/**
 * Makes versions of what was written and never closed when a daemon died (spec §4.4, §4.8).
 * @param isAlive tells whether the daemon that owns a draft still serves it
 */
export function recoverDrafts(store: Store, isAlive: (owner: string) => boolean): number {
  const shared = new Set(store.sessions.named.shared().map(({ id }) => id));
  let recovered = 0;
  for (const owner of store.drafts.owners()) {
    if (isAlive(owner)) continue;
    for (const draft of store.drafts.ofOwner(owner)) {
      // Nothing that a shared session wrote becomes memory.
      if (shared.has(draft.session)) {
        store.write(() => store.deleteDraft(draft.id, Number.POSITIVE_INFINITY));
        continue;
      }
      store.write(() => {
        const start = draft.first ?? draft.base;
        const first = start === null ? undefined : store.contentIfKept(start);
        const bytes = store.drafts.replay(draft.id, first ?? Buffer.alloc(0));
        const content = store.putContent(bytes);
        const { tree, session } = draft;
        store.addVersion({
          tree,
          path: pathNow(store, draft.node) ?? draft.path,
          content,
          kind: 'interrupted',
          session,
        });
        store.deleteDraft(draft.id, Number.POSITIVE_INFINITY);
      });
      recovered++;
    }
  }
  if (recovered > 0) log('info', 'unsaved writes of a daemon that died are kept as versions', { recovered });
  return recovered;
}

/** The path of a file of memory, which may have been renamed since its draft began; undefined when it is not in a tree. */
function pathNow(store: Store, node: number): string | undefined {
  const names: string[] = [];
  let row = store.loadNode(node);
  if (row?.mount !== 0 || row.parent === null) return undefined;
  for (; row?.parent != null; row = store.loadNode(row.parent)) names.unshift(row.name ?? '');
  return names.join('/');
}

/** Takes away names that were created and never closed; only while no other daemon serves the store. */
export function removeUnfinished(store: Store): void {
  store.write(() => {
    const rows = store.db
      .prepare<[], { id: number; tree: number }>(
        "SELECT id, tree FROM node WHERE kind = 'file' AND mount = 0 AND (content IS NULL OR parent IS NULL)",
      )
      .all();
    for (const { id, tree } of rows) {
      store.deleteNode(id);
      store.recordChange(tree, id);
    }
    store.db
      .prepare("DELETE FROM node WHERE kind = 'directory' AND parent IS NULL AND id NOT IN (SELECT root FROM tree)")
      .run();
    // Another mount does not see a local file, and may have removed the folder that it lay in.
    const orphans = store.db
      .prepare<[], number>(
        'SELECT id FROM node WHERE mount <> 0 AND (parent IS NULL OR parent NOT IN (SELECT id FROM node))',
      )
      .pluck();
    for (let locals = orphans.all(); locals.length > 0; locals = orphans.all()) {
      for (const id of locals) {
        store.deleteNode(id);
        store.deleteLocal(id);
      }
    }
  });
}
