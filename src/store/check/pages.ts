import type Database from 'better-sqlite3';
import { damageInWords, type Fault, isDamage } from './fault.js';

/**
 * How closely the pages of a database are looked at: `quick` reads all of them and leaves out whether the entries of
 * indexes and rows belong to each other, which takes about as long again.
 */
export type Depth = 'quick' | 'full';

/** Faults that are told at most. */
const MOST = 20;
/** Longest message, in characters. */
const LONGEST = 160;

/** What is wrong with the structure of a database's pages; SQLite's own sentences. */
export function pageFaults(db: Database.Database, depth: Depth, most = MOST): Fault[] {
  try {
    const rows = db.pragma(`${depth === 'full' ? 'integrity_check' : 'quick_check'}(${most})`) as object[];
    return rows
      .flatMap((row) => String(Object.values(row)[0]).split('\n'))
      .filter((line) => line !== 'ok' && line.trim() !== '' && !line.startsWith('*** in database'))
      .slice(0, most)
      .map((line): Fault => ({ check: 'pages', message: line.trim().slice(0, LONGEST) }));
  } catch (error) {
    // Some damage breaks off the check itself.
    if (!isDamage(error)) throw error;
    return [{ check: 'pages', message: damageInWords(error) }];
  }
}
