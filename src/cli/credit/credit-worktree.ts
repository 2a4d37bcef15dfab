import { hash } from 'node:crypto';
import { isSystemError, MendError } from '../../errors.js';
import { type Standing, standings } from '../../import/credit/counting.js';
import { decide } from '../../import/credit/decide.js';
import type { CreditedPerson, Manifest, Reading, Worktree } from '../../import/credit/manifest.js';
import type { ImportedFile } from '../../import/import-options.js';
import { quoted } from '../output.js';
import type { Account } from '../people/account.js';
import { systemPath } from '../people/system-folder.js';
import { creditedUser } from './credited-user.js';
import { handOver } from './hand-over.js';
import { Ledger } from './ledger.js';
import type { CreditRequest } from './messages.js';
import { OpenReading } from './open-reading.js';
import { noteUncredited } from './uncredited.js';

export interface CreditOptions {
  /** Nothing is written, for nobody. */
  readonly isDry: boolean;
  readonly allowSecrets: boolean;
}

/** What became of one reading. */
export interface CreditResult {
  readonly worktree: string;
  readonly reading: Reading;
  readonly outcome: 'credited' | 'not credited' | 'passed over' | 'skipped' | 'failed';
  /** It will be read again. */
  readonly isProvisional: boolean;
  /** Whose it is; null for nobody, and where that was not asked. */
  readonly person: string | null;
  /** Why, as the rest of a sentence. */
  readonly reason: string;
  readonly files: readonly ImportedFile[];
  /** Files that were credited to somebody else by an earlier reading, and stay there. */
  readonly before: number;
  /** Files that nobody has; null when they could not be counted. */
  readonly uncredited: number | null;
}

const isAdministrator = (): boolean => process.getuid?.() === 0;

/** Deals with the readings of one worktree, one after the other. */
export class WorktreeCredit {
  readonly #manifest: Manifest;
  readonly #worktree: Worktree;
  readonly #options: CreditOptions;

  constructor(manifest: Manifest, worktree: Worktree, options: CreditOptions) {
    this.#manifest = manifest;
    this.#worktree = worktree;
    this.#options = options;
  }

  async *run(): AsyncIterable<CreditResult> {
    const standing = standings(this.#worktree);
    for (const reading of this.#worktree.readings) {
      const stands = standing.get(reading);
      if (stands) yield await this.#reading(reading, stands);
    }
  }

  async #reading(reading: Reading, standing: Standing): Promise<CreditResult> {
    const result = {
      ...{ worktree: this.#worktree.id, reading, isProvisional: standing.kind === 'provisional' },
      ...{ person: null, files: [], before: 0, uncredited: 0 },
    };
    if (standing.kind === 'superseded')
      return { ...result, outcome: 'passed over', reason: `"${standing.by.id}" is later, and counts` };
    const key = this.#key(reading);
    const ledger = isAdministrator() ? openLedger(key) : Ledger.none();
    if (ledger instanceof MendError) return { ...result, outcome: 'failed', reason: ledger.message, uncredited: null };
    const after = ledger.outdates(reading, standing);
    if (after !== undefined)
      return { ...result, outcome: 'passed over', reason: `"${after}" was dealt with before, and is later` };
    const done = await this.#decided(reading, ledger, result);
    if (!isAdministrator() || this.#options.isDry) return done;
    if (done.outcome !== 'failed') ledger.conclude(reading, standing);
    try {
      ledger.save();
      if (done.uncredited !== null) noteUncredited(this.#worktree.project, key, done.uncredited);
      return done;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      const where = quoted(systemPath());
      const reason = `what was done cannot be noted (${error.code}): make ${where} writable, with room, and try again`;
      return { ...done, outcome: 'failed', reason };
    }
  }

  async #decided(
    reading: Reading,
    ledger: Ledger,
    result: Omit<CreditResult, 'outcome' | 'reason'>,
  ): Promise<CreditResult> {
    const { organisation, people } = this.#manifest;
    const { person: id, reason } = decide(reading, this.#worktree.sessions, organisation);
    let opened: OpenReading | undefined;
    try {
      const receiver = id === null ? undefined : await receiverOf(people.get(id));
      if (receiver?.isOther)
        return {
          ...result,
          outcome: 'skipped',
          person: id,
          reason: `it is of "${id}": an administrator can credit it`,
        };
      opened = OpenReading.open(reading);
      if (!receiver) return { ...result, ...kept(opened, ledger), outcome: 'not credited', reason };
      const { user, store } = receiver;
      const { uid } = user;
      const request = this.#request(reading, opened);
      const handed = await handOver(
        opened,
        { user: isAdministrator() ? user : undefined, store },
        request,
        (path, sha) => ledger.isOthers(path, sha, uid),
      );
      if (!this.#options.isDry) ledger.credit(handed.credited, uid);
      const { files, withheld: before, failure } = handed;
      const left = opened.listing.files.length - handed.credited.size - before;
      // What is left out now may have been credited by an earlier run.
      const uncredited = left > 0 && !this.#options.isDry ? kept(opened, ledger).uncredited : left;
      return {
        ...{ ...result, person: id, files, before, uncredited },
        ...(failure === undefined ? { outcome: 'credited', reason } : { outcome: 'failed', reason: failure }),
      };
    } catch (error) {
      if (!(error instanceof MendError)) throw error;
      const uncredited = opened ? kept(opened, ledger).uncredited : null;
      return { ...result, outcome: 'failed', person: id, reason: error.message, uncredited };
    } finally {
      opened?.close();
    }
  }

  #request({ harness }: Reading, { listing }: OpenReading): CreditRequest {
    const { id, project } = this.#worktree;
    return {
      project: { remote: project.remote ?? null, folder: project.folder ?? null },
      harness: harness.name,
      source: { key: JSON.stringify([this.#manifest.organisation.id, id]), name: `worktree ${id}` },
      ...this.#options,
      ...listing,
    };
  }

  /** Stands for the worktree and a harness in the administrator's files. */
  #key({ harness }: Reading): string {
    const of = [this.#manifest.organisation.id, this.#worktree.id, harness.name];
    return hash('sha256', JSON.stringify(of)).slice(0, 32);
  }
}

/** Gives back what is wrong with it, which is no fault of other worktrees. */
function openLedger(key: string): Ledger | MendError {
  try {
    return Ledger.open(key);
  } catch (error) {
    if (error instanceof MendError) return error;
    throw error;
  }
}

/** What of a reading nobody gets now. */
function kept(reading: OpenReading, ledger: Ledger): Pick<CreditResult, 'before' | 'uncredited'> {
  const before = [...reading.digests()].filter(([path, sha256]) => ledger.isOthers(path, sha256)).length;
  return { before, uncredited: reading.listing.files.length - before };
}

/** @throws {MendError} when the person has no user here */
async function receiverOf(
  person: CreditedPerson | undefined,
): Promise<{ readonly user: Account; readonly store: string | undefined; readonly isOther: boolean }> {
  if (!person || person.user === null)
    throw new MendError(`"${person?.id}" has no Linux user on this machine: make one, and name it in /people`);
  const user = await creditedUser(person.user);
  return { user, store: person.store, isOther: !isAdministrator() && user.uid !== process.getuid?.() };
}
