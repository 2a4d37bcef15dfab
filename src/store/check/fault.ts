import Database from 'better-sqlite3';

/** What is looked at; the order in which faults are told. */
export type CheckName = 'file' | 'log' | 'pages' | 'schema' | 'references' | 'contents' | 'files' | 'versions' | 'rows';

/** Something that is wrong with a store. */
export interface Fault {
  readonly check: CheckName;
  /** For people, without its end. Names files, and never says what they hold. */
  readonly message: string;
}

/** Codes of SQLite for what cannot be read as the database it should be; not for what could not be written or locked. */
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB|IOERR$|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA|FSTAT|SEEK|MMAP|IN_PAGE)$)/;

/** What SQLite says where a statement of ours meets tables of another form: the page that describes them is damaged. */
const OTHER_TABLES =
  /^(?:no such (?:table|column|index|view|trigger)|foreign key mismatch|table \S+ has no column named)\b/;

/** True for an error of SQLite that says that a file cannot be read as the database it should be. */
export function isDamage(error: unknown): error is InstanceType<typeof Database.SqliteError> {
  if (!(error instanceof Database.SqliteError)) return false;
  return DAMAGE.test(error.code) || OTHER_TABLES.test(error.message);
}

/** Such an error in words. */
export function damageInWords(error: { readonly code?: string | undefined }): string {
  const code = error.code ?? '';
  if (code.startsWith('SQLITE_NOTADB')) return 'it does not begin as a database does';
  if (code.startsWith('SQLITE_IOERR')) return `the disk does not give back all of it (${code})`;
  if (code === 'SQLITE_ERROR') return 'its tables are not those of a store';
  return 'its pages contradict each other';
}
