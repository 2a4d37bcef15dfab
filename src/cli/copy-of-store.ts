import { hostname } from 'node:os';
import { MendError } from '../errors.js';
import { knownMachineId } from '../project/machine.js';
import { copyOfStore } from '../store/copy-of-store.js';
import { Store } from '../store/store.js';
import { hasStore, ownStoreFolder } from './context.js';

/** The machine id of a machine that has none yet: what is done with it is thrown away. */
const NONE_YET = '0'.repeat(32);

/**
 * Runs `work` on a copy of this person's store, in memory. The store itself is not written.
 * @param create start from an empty store where there is none
 */
export async function withCopyOfStore(create: boolean, work: (store: Store) => Promise<void>): Promise<void> {
  const folder = ownStoreFolder();
  if (!hasStore() && !create) throw new MendError('there is no memory yet: run "mend mount" in a checkout first');
  const machine = { machineId: knownMachineId(folder) ?? NONE_YET, name: hostname() || 'localhost' };
  const database = copyOfStore(folder);
  const store = new Store(folder, { create: false, owner: 'command', machine: () => machine, database });
  try {
    await work(store);
  } finally {
    store.close();
  }
}
