import type { Command } from 'commander';
import type { Run } from '../program.js';
import { addStoreBackup } from './store-backup.js';
import { addStoreCheck } from './store-check.js';
import { addStoreRestore } from './store-restore.js';

export function addStore(program: Command, run: Run): void {
  const store = program.command('store').description('check the store, back it up, and put a backup in its place');
  addStoreCheck(store.command('check'), run);
  addStoreBackup(store.command('backup'), run);
  addStoreRestore(store.command('restore'), run);
}
