import type Database from 'better-sqlite3';

/** Kind and 1-based line of a likely secret. */
export type ScannedSecret = readonly [rule: string, line: number];

/** What scans for secrets found in contents. Rows go with their content, so nothing here has to be swept. */
export class SecretScans {
  readonly #find;
  readonly #save;

  constructor(db: Database.Database) {
    this.#find = db
      .prepare<[number, string], string>('SELECT findings FROM secret_scan WHERE content = ? AND scanner = ?')
      .pluck();
    // The content may have been swept while it was scanned.
    this.#save = db.prepare(
      `INSERT OR REPLACE INTO secret_scan (content, scanner, findings)
       SELECT id, @scanner, @findings FROM content WHERE id = @content`,
    );
  }

  /** What these rules found in a content; undefined when they have not looked. */
  find(content: number, scanner: string): readonly ScannedSecret[] | undefined {
    const findings = this.#find.get(content, scanner);
    return findings === undefined ? undefined : (JSON.parse(findings) as ScannedSecret[]);
  }

  /** For use within `store.write`. */
  save(content: number, scanner: string, findings: readonly ScannedSecret[]): void {
    this.#save.run({ content, scanner, findings: JSON.stringify(findings) });
  }
}
