import Database from 'better-sqlite3';
import { migrationsUpTo } from '../migrate.js';
import type { Fault } from './fault.js';

/** Tables and indexes that a store of a schema must have and that one has not; other ones are nobody's business. */
export function schemaFaults(db: Database.Database, version: number): Fault[] {
  const model = new Database(':memory:');
  try {
    for (const { sql } of migrationsUpTo(version)) model.exec(sql);
    const has = new Set(parts(db));
    return parts(model)
      .filter((part) => !has.has(part))
      .map((part): Fault => ({ check: 'schema', message: `there is no ${part}` }));
  } finally {
    model.close();
  }
}

/** Tables, columns and indexes in words. */
function parts(db: Database.Database): string[] {
  return db
    .prepare<[], string>(
      `SELECT s.type || ' ' || s.name FROM sqlite_schema s WHERE s.type IN ('table', 'index')
       UNION ALL SELECT 'column ' || c.name || ' of ' || s.name FROM sqlite_schema s, pragma_table_xinfo(s.name) c WHERE s.type = 'table'`,
    )
    .pluck()
    .all();
}
