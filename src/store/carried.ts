import type Database from 'better-sqlite3';
import { ConversationTable } from './conversation-table.js';
import { SummaryTable } from './summary-table.js';

/** What is carried with trees beside their files. */
export interface Carried {
  readonly summaries: SummaryTable;
  readonly conversations: ConversationTable;
}

const known = new WeakMap<Database.Database, Carried>();

/** The tables of what is carried, for a connection to a store (`Store.db`). */
export function carried(db: Database.Database): Carried {
  const tables = known.get(db) ?? { summaries: new SummaryTable(db), conversations: new ConversationTable(db) };
  known.set(db, tables);
  return tables;
}
