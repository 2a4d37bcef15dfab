import { hash } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { Fault } from './fault.js';

interface ContentRow {
  readonly id: number;
  readonly size: number;
  readonly sha256: Buffer;
  readonly bytes: Buffer;
}

/** Faults that are told at most. */
const MOST = 20;

/** Contents whose bytes are not those that were stored, by their size and SHA-256. Reads every byte of them. */
export function contentFaults(db: Database.Database): Fault[] {
  const wrong: number[] = [];
  for (const row of db.prepare<[], ContentRow>('SELECT id, size, sha256, bytes FROM content').iterate())
    if (row.bytes.length !== row.size || !hash('sha256', row.bytes, 'buffer').equals(row.sha256)) wrong.push(row.id);
  const faults = wrong.slice(0, MOST).map((id): Fault => ({ check: 'contents', message: describe(db, id) }));
  if (wrong.length > MOST)
    faults.push({ check: 'contents', message: `so it is with ${wrong.length - MOST} more contents` });
  return faults;
}

/** Files that are named at most. */
const NAMED = 3;

function describe(db: Database.Database, id: number): string {
  const holders = db
    .prepare<[number], string>(
      `SELECT DISTINCT path || ' (version ' || number || ')' FROM version WHERE content = ? LIMIT ${NAMED + 1}`,
    )
    .pluck()
    .all(id);
  const names = holders.length > NAMED ? [...holders.slice(0, NAMED), 'others'] : holders;
  return `content ${id} is not what was stored${names.length === 0 ? '' : `: ${names.join(', ')}`}`;
}
