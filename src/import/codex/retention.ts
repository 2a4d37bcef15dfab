import { hash } from 'node:crypto';
import { memorySettings } from '../../harness/codex/memory-settings.js';
import type { Summary } from '../../store/summary-table.js';
import { useOf } from './summary-row.js';

/** Days after which Codex drops what it has not used, where its settings say nothing, and at most. */
const DAYS = 30;
const DAYS_MOST = 365;

type Row = Pick<Summary, 'updated' | 'row'>;

/**
 * Codex drops from a home what was not used there for some days: by its last use, else by the time of its conversation. That
 * says nothing of other homes, so it is no removal.
 */
export interface Retention {
  /** Whether Codex may have dropped a summary in a home for its age, which may not know of its last use elsewhere. */
  mayDrop(row: Row): boolean;
  /** Whether it would do so, knowing all that the store knows. */
  drops(row: Row): boolean;
}

/** The retention of a home. @param now µs since the epoch */
export function retentionOf(home: string, now: number): Retention {
  const said = memorySettings(home)['max_unused_days'];
  const days = typeof said === 'number' ? Math.min(Math.max(said, 0), DAYS_MOST) : DAYS;
  const cutoff = now / 1e6 - days * 24 * 60 * 60;
  const lastOf = (row: Row): number => useOf(row).last || row.updated;
  return {
    mayDrop: (row) => Math.min(row.updated, lastOf(row)) < cutoff,
    drops: (row) => lastOf(row) < cutoff,
  };
}

/** What stands for a summary that a home has dropped for its age, in the place of its digest. */
export function droppedDigest(digest: Buffer): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from('dropped for its age '), digest]), 'buffer');
}
