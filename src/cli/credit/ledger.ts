import { lstatSync } from 'node:fs';
import { MendError } from '../../errors.js';
import type { Standing } from '../../import/credit/counting.js';
import type { Reading } from '../../import/credit/manifest.js';
import { prepareOwnFolder, systemPath } from '../people/system-folder.js';
import { readSystemFile, replaceFile } from './system-files.js';

/** In the system's folder, for root alone. */
const FOLDER = 'credited';

/** What was credited of one worktree and harness: hashes, and whom it went to. */
interface Page {
  readonly version: 1;
  /** The reading that was dealt with last, if one was to its end. */
  readonly last: { readonly reading: string; readonly time: number; readonly final: boolean } | null;
  /** Path, SHA-256 and uid of each content that was credited. */
  readonly credited: readonly (readonly [path: string, sha256: string, uid: number])[];
}

/**
 * The administrator's record of what was credited to whom, readable by root alone. With it, what one person was credited
 * with by an earlier reading is not credited to another by a later one.
 */
export class Ledger {
  readonly #path: string | undefined;
  #last: Page['last'] = null;
  readonly #credited = new Map<string, readonly [path: string, sha256: string, uid: number]>();

  private constructor(path: string | undefined) {
    this.#path = path;
  }

  /** One that remembers nothing, for a person, who credits nobody else. */
  static none(): Ledger {
    return new Ledger(undefined);
  }

  /** @throws {MendError} when it is damaged */
  static open(key: string): Ledger {
    const ledger = new Ledger(systemPath(FOLDER, `${key}.json`));
    ledger.#read();
    return ledger;
  }

  /** Id of the reading after which this one has nothing to say; undefined when there is none. */
  outdates({ id, time }: Reading, { kind }: Standing): string | undefined {
    const last = this.#last;
    if (!last || last.reading === id) return undefined;
    const isOver = kind === 'final' ? last.final && time < last.time : last.final || time < last.time;
    return isOver ? last.reading : undefined;
  }

  /** Whether anybody but one user has that content of that path; whether anybody has, without a user. */
  isOthers(path: string, sha256: string, uid?: number): boolean {
    const owner = this.#credited.get(`${sha256} ${path}`)?.[2];
    return owner !== undefined && owner !== uid;
  }

  /** Notes what a user was credited with. */
  credit(files: ReadonlyMap<string, string>, uid: number): void {
    for (const [path, sha256] of files) this.#credited.set(`${sha256} ${path}`, [path, sha256, uid]);
  }

  /** Notes that a reading was dealt with. */
  conclude({ id, time }: Reading, { kind }: Standing): void {
    this.#last = { reading: id, time, final: kind === 'final' };
  }

  save(): void {
    if (this.#path === undefined) return;
    prepareOwnFolder(FOLDER, 0o700);
    const page: Page = { version: 1, last: this.#last, credited: [...this.#credited.values()] };
    replaceFile(this.#path, `${JSON.stringify(page)}\n`, 0o600);
  }

  #read(): void {
    if (this.#path === undefined || !lstatSync(this.#path, { throwIfNoEntry: false })) return;
    try {
      // What cannot be read, or is too large, is no page: who was credited with what must not be forgotten.
      const page = JSON.parse(readSystemFile(this.#path) ?? '') as Page;
      if (page.version !== 1) throw new SyntaxError('another version');
      this.#last = page.last;
      for (const entry of page.credited) this.#credited.set(`${entry[1]} ${entry[0]}`, entry);
    } catch (error) {
      if (!(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error;
      throw new MendError(
        `${this.#path}, which has what was credited before, cannot be read: bring it back from a backup, or move it away`,
        { cause: error },
      );
    }
  }
}
