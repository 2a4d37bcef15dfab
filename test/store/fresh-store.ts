import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, inject } from 'vitest';
import { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';

const machine = { machineId: 'a'.repeat(32), name: 'this-host' };
const open: Store[] = [];

afterEach(() => {
  for (const store of open.splice(0)) store.close();
});

/** A folder of this test alone, 0700. */
export function freshFolder(): string {
  return mkdtempSync(join(inject('runFolder'), 'store-'));
}

/** Opens a store, closed after the test. Several of one folder are as several processes of one person. */
export function openStore(folder = freshFolder(), owner = 'test', identity = machine): Store {
  const store = new Store(folder, { create: true, owner, machine: () => identity });
  open.push(store);
  return store;
}

/** A project with one tree. */
export function addTree(store: Store, name = 'project'): TreeRow {
  return store.write(() => {
    const { id } = store.projects.create([name], store.now);
    return store.trees.create(id, 'claude', () => store.newId(), store.now);
  });
}
