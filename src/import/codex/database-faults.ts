import { closeSync, lstatSync, openSync, readSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../../errors.js';
import type { Skipped } from '../folder-reader.js';
import type { CodexLimits } from './codex-limits.js';
import { SUMMARY_DATABASES } from './home-summaries.js';
import { readOnly } from './read-only.js';

/** What keeps databases of summaries in a home from being taken. Changes nothing. */
export function databaseFaults(home: string, { summaryBytes }: Pick<CodexLimits, 'summaryBytes'>): Skipped[] {
  return Object.values(SUMMARY_DATABASES).flatMap((source) => {
    const reason = faultOf(join(home, source), summaryBytes);
    return reason === undefined ? [] : [{ path: source, reason }];
  });
}

function faultOf(file: string, most: number): string | undefined {
  if (!statOf(file)) return undefined;
  try {
    const form = formFault(file);
    if (form !== undefined) return form;
    const bytes = readOnly(file, (db) => {
      if (db.pragma('integrity_check(1)', { simple: true }) !== 'ok') return undefined;
      const pragma = (name: string): number => Number(db.pragma(name, { simple: true }));
      return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
    });
    if (bytes === undefined) return statOf(file) ? DAMAGED : undefined;
    return bytes > most ? `is over the limit of ${most} bytes (${bytes})` : undefined;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // Gone since it was found.
    return error.code === 'ENOENT' ? undefined : faultOfError(error);
  }
}

const DAMAGED = 'is damaged: move it away, and Codex gets another with what the store has';
const CLOSED = 'cannot be read: make it readable for you';

/** What an error of a database, or of its file, says to a person; goes on after its name. */
export function faultOfError({ code = '' }: NodeJS.ErrnoException): string {
  if (/^SQLITE_(?:CORRUPT|NOTADB)/.test(code)) return DAMAGED;
  if (/^(?:SQLITE_CANTOPEN|EACCES|EPERM)/.test(code)) return CLOSED;
  return `could not be carried (${code})`;
}

/** What begins every database that is not empty (SQLite's file format, 1.3.1). */
const MAGIC = 'SQLite format 3\0';

/**
 * Why a file cannot be a database; undefined where there is none.
 * @throws {NodeJS.ErrnoException} when it cannot be read.
 */
export function formFault(file: string): string | undefined {
  const stat = statOf(file);
  if (!stat) return undefined;
  if (!stat.isFile()) return 'is not a file: move it away';
  if (stat.size === 0) return undefined;
  const bytes = Buffer.alloc(MAGIC.length);
  const fd = openSync(file, 'r');
  try {
    readSync(fd, bytes);
  } finally {
    closeSync(fd);
  }
  return bytes.toString('latin1') === MAGIC ? undefined : DAMAGED;
}

/** Undefined, too, in a home that cannot be entered: that is mended with the next start. */
function statOf(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}
