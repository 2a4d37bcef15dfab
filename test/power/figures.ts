import type { Entry, Op } from './record.js';

const NAMES: readonly Op[] = ['create', 'rename', 'link', 'unlink', 'mkdir', 'rmdir'];

/** What a record consists of, for people. */
export function figuresOf(entries: readonly Entry[]): Record<string, number> {
  const count = (ops: readonly Op[], end = ''): number =>
    entries.filter(({ op, path }) => ops.includes(op) && path.endsWith(end)).length;
  return {
    'calls recorded': entries.length,
    'writes to the log': count(['write'], '/store.db-wal'),
    'writes to the database': count(['write'], '/store.db'),
    'syncs of the log': count(['sync ends'], '/store.db-wal'),
    'syncs of the database': count(['sync ends'], '/store.db'),
    'changes of names': count(NAMES),
  };
}
