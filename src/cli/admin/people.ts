import { lstatSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isSystemError, MendError } from '../../errors.js';
import type { HeldFolder } from '../../import/held-folder.js';
import { type Account, findAccount } from '../people/account.js';
import { openOwnFolder, openSystemFolder, systemPath } from '../people/system-folder.js';

/** Folder of the records, beside people's stores: root's, so that nobody enables themselves. */
const FOLDER = 'people';

/** What is known of a person who was ever enabled. It stays when they are disabled: their memory stays, too. */
export interface PersonRecord {
  readonly uid: number;
  /** Whom the number of the user belonged to then; numbers are given out again. */
  readonly name: string;
  readonly enabled: boolean;
  /** Whether lingering was switched on for them, and not by themselves. */
  readonly linger: boolean;
}

/** A record that is there and tells nothing. */
export interface DamagedRecord {
  readonly uid: number;
  readonly fault: MendError;
}

/** The records, by rising uid. One that is damaged keeps nobody from reading the others. */
export function listPeople(): { readonly people: PersonRecord[]; readonly damaged: DamagedRecord[] } {
  const system = openSystemFolder(false);
  const folder = system && openOwnFolder(system, FOLDER, undefined);
  try {
    const [people, damaged]: [PersonRecord[], DamagedRecord[]] = [[], []];
    const uids = folder ? readdirSync(folder.at()).filter((name) => /^\d+$/.test(name)) : [];
    for (const uid of uids.map(Number).sort((a, b) => a - b)) {
      const record = folder && readOrFault(folder, uid);
      if (record instanceof MendError) damaged.push({ uid, fault: record });
      else if (record) people.push(record);
    }
    return { people, damaged };
  } finally {
    folder?.close();
    system?.close();
  }
}

function readOrFault(folder: HeldFolder, uid: number): PersonRecord | MendError {
  try {
    return read(folder, uid);
  } catch (error) {
    if (error instanceof MendError) return error;
    throw error;
  }
}

function read(folder: HeldFolder, uid: number): PersonRecord {
  try {
    const { name, enabled, linger } = JSON.parse(readFileSync(folder.at(String(uid)), 'utf8')) as Partial<PersonRecord>;
    if (typeof name === 'string') return { uid, name, enabled: enabled === true, linger: linger === true };
  } catch (error) {
    if (!(error instanceof SyntaxError) && !isSystemError(error)) throw error;
  }
  throw new MendError(`${systemPath(FOLDER, String(uid))} cannot be read: remove it, and enable that person once more`);
}

/** Writes a record, whole or not at all. */
export function recordPerson(system: HeldFolder, { uid, ...record }: PersonRecord): void {
  const folder = openOwnFolder(system, FOLDER, 0o755);
  try {
    const fresh = folder.at(`.${uid}.new`);
    rmSync(fresh, { force: true });
    writeFileSync(fresh, `${JSON.stringify(record)}\n`, { mode: 0o644, flag: 'wx', flush: true });
    renameSync(fresh, folder.at(String(uid)));
    folder.sync();
  } finally {
    folder.close();
  }
}

/** The record of a person, where there is one. */
export function recordOf(uid: number): PersonRecord | undefined {
  const system = openSystemFolder(false);
  const folder = system && openOwnFolder(system, FOLDER, undefined);
  try {
    const isThere = folder && lstatSync(folder.at(String(uid)), { throwIfNoEntry: false });
    return isThere ? read(folder, uid) : undefined;
  } finally {
    folder?.close();
    system?.close();
  }
}

/**
 * @throws {MendError} when the number belonged to somebody else when it was enabled, whose memory may be in the store.
 */
export function refuseOtherPerson(record: PersonRecord | undefined, { name, uid }: Account): void {
  if (record === undefined || record.name === name) return;
  const [store, file] = [systemPath(String(uid)), systemPath(FOLDER, String(uid))];
  throw new MendError(
    `user ${uid} was "${record.name}" when memory was set up, and is "${name}" now: move ${store} away if it is somebody else's, and remove ${file}`,
  );
}

/**
 * The account that a record is of.
 * @throws {MendError} when it is gone, or another one has its number.
 */
export async function accountOf(record: PersonRecord): Promise<Account> {
  const account = await findAccount(String(record.uid));
  if (!account)
    throw new MendError(
      `user ${record.uid} ("${record.name}") is gone: run "mend admin disable ${record.uid}", which leaves the memory`,
    );
  refuseOtherPerson(record, account);
  return account;
}
