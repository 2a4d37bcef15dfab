import Database from 'better-sqlite3';
import { migrate, newestSchema, schemaVersion } from '../migrate.js';
import { openImage } from '../read-only.js';
import { contentFaults } from './contents.js';
import { damageInWords, type Fault, isDamage } from './fault.js';
import { pageFaults } from './pages.js';
import { RULES } from './rules.js';
import { schemaFaults } from './schema.js';

/**
 * Looks for everything that can be wrong in a database that is a mend store (`refuseForeign`): pages, tables, contents
 * by their SHA-256, and what rows rely on each other for. Reads all of it, and changes nothing. A store of an older
 * schema is brought up to date in memory, to be looked at as it would be used.
 */
export function checkDatabase(db: Database.Database): Fault[] {
  const faults = pageFaults(db, 'full');
  const attempt = (look: () => readonly Fault[]): void => {
    try {
      faults.push(...look());
    } catch (error) {
      // What is damaged is told once, and so is a table that is not there. Rows of such a store can hold anything.
      if (faults.length > 0) return;
      if (!(error instanceof Database.SqliteError)) throw error;
      faults.push(faultOf(error));
    }
  };
  attempt(() => schemaFaults(db, schemaVersion(db)));
  const current = schemaVersion(db) === newestSchema() ? db : upgraded(db, faults);
  if (!current) return faults;
  try {
    db.transaction(() => {
      attempt(() => referenceFaults(current));
      attempt(() => contentFaults(current));
      for (const rule of RULES)
        attempt(() => {
          const count = current.prepare<[], number>(rule.count).pluck().get() ?? 0;
          return count === 0 ? [] : [{ check: rule.check, message: `${rule.found}: ${count}` }];
        });
    })();
  } finally {
    if (current !== db) current.close();
  }
  return faults;
}

function faultOf(error: InstanceType<typeof Database.SqliteError>): Fault {
  const { code } = error;
  if (isDamage(error)) return { check: 'pages', message: damageInWords(error) };
  return { check: 'schema', message: `it does not have the tables of a store (${code})` };
}

/** A copy in memory that has this program's schema; undefined, with the fault, where it cannot be had. */
function upgraded(db: Database.Database, faults: Fault[]): Database.Database | undefined {
  let copy: Database.Database | undefined;
  try {
    copy = openImage(db.serialize(), {});
    migrate(copy);
    return copy;
  } catch (error) {
    copy?.close();
    if (!(error instanceof Database.SqliteError)) throw error;
    if (faults.length === 0)
      faults.push({ check: 'schema', message: `it cannot be brought up to date (${error.code})` });
    return undefined;
  }
}

/** Rows that name a row which is not there, by the constraints of their tables. */
function referenceFaults(db: Database.Database): Fault[] {
  const rows = db.pragma('foreign_key_check') as { table: string; parent: string }[];
  const counts = new Map<string, number>();
  for (const { table, parent } of rows) {
    const message = `rows of ${table} that belong to a ${parent} which is not there`;
    counts.set(message, (counts.get(message) ?? 0) + 1);
  }
  return [...counts].map(([message, count]): Fault => ({ check: 'references', message: `${message}: ${count}` }));
}
