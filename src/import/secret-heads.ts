import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { log } from '../log.js';
import { MemoryFiles } from '../store/memory-files.js';
import { SecretScans } from '../store/secret-scans.js';
import type { Store } from '../store/store.js';
import { NOT_SCANNED, type SecretFinding } from './secret-messages.js';
import type { SecretScanner } from './secrets.js';

/** Results that are stored in one go. */
const BATCH = 200;
/** Time, in ms, that storing results waits for another process that holds the store: they are worth no longer one. */
const WAIT = 200;
/** Codes of SQLite for a store that cannot be written now. */
const NOT_WRITABLE = /^SQLITE_(BUSY|LOCKED|READONLY|FULL|IOERR|CANTOPEN)/;

let known: string | undefined;

/**
 * Likely secrets in the heads of a tree, by path; a file without any is not in the map. What was found in a content is
 * stored, so that only what is new is scanned the next time; a store that cannot be written is listed all the same.
 * @throws {MendError} when something is new and the scanner does not start.
 */
export async function secretsOfHeads(
  store: Store,
  tree: { readonly id: number; readonly root: number },
  scanner: SecretScanner,
): Promise<Map<string, readonly SecretFinding[]>> {
  const scans = new Scans(store);
  const found = new Map<string, readonly SecretFinding[]>();
  try {
    for (const { path, content } of new MemoryFiles(store, tree).list()) {
      const findings = scans.find(content) ?? (await scan(store, scanner, path, content));
      if (!findings) continue;
      scans.keep(content, findings);
      if (findings.length > 0) found.set(path, findings);
    }
  } finally {
    scans.save();
  }
  return found;
}

async function scan(store: Store, scanner: SecretScanner, path: string, content: number) {
  const bytes = store.contentIfKept(content);
  // Removed and purged meanwhile.
  return bytes && scanner.scan(path, bytes);
}

/** What is known of contents, and what is to be stored of it. */
class Scans {
  readonly #store: Store;
  readonly #table: SecretScans;
  readonly #rules = fingerprint();
  readonly #fresh = new Map<number, readonly SecretFinding[]>();
  readonly #known = new Map<number, readonly SecretFinding[]>();
  #writable = true;

  constructor(store: Store) {
    this.#store = store;
    this.#table = new SecretScans(store.db);
  }

  find(content: number): readonly SecretFinding[] | undefined {
    const known = this.#known.get(content);
    if (known) return known;
    const findings = this.#table.find(content, this.#rules)?.map(([rule, line]) => ({ rule, line }));
    if (findings) this.#known.set(content, findings);
    return findings;
  }

  keep(content: number, findings: readonly SecretFinding[]): void {
    if (this.#known.has(content)) return;
    this.#known.set(content, findings);
    // Says something of this run as well, so the next one tries again.
    if (findings.some(({ rule }) => rule === NOT_SCANNED)) return;
    this.#fresh.set(content, findings);
    if (this.#fresh.size >= BATCH) this.save();
  }

  /** Stores what is new; changes neither a file nor its history, so nobody is told. */
  save(): void {
    if (this.#fresh.size === 0 || !this.#writable) return;
    const { db } = this.#store;
    const patience = db.pragma('busy_timeout', { simple: true }) as number;
    db.pragma(`busy_timeout = ${WAIT}`);
    try {
      this.#store.write(() => {
        for (const [content, findings] of this.#fresh)
          this.#table.save(
            content,
            this.#rules,
            findings.map(({ rule, line }) => [rule, line] as const),
          );
      }, true);
    } catch (error) {
      if (!(error instanceof Database.SqliteError && NOT_WRITABLE.test(error.code))) throw error;
      this.#writable = false;
      log('debug', 'results of the scan for secrets were not stored', { code: error.code });
    } finally {
      db.pragma(`busy_timeout = ${patience}`);
    }
    this.#fresh.clear();
  }
}

/** Tells the rules: of secretlint, and of this program. The rules themselves are not loaded for it. */
function fingerprint(): string {
  known ??= hash(
    'sha256',
    [
      createRequire(import.meta.url).resolve('@secretlint/secretlint-rule-preset-recommend/package.json'),
      ...['rules', 'patterns', 'text'].map(
        (name) => new URL(`./secret-${name}${extname(fileURLToPath(import.meta.url))}`, import.meta.url),
      ),
    ]
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n'),
  ).slice(0, 16);
  return known;
}
