import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { isSystemError, MendError } from '../../errors.js';

/** An entry of passwd(5). */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** The account with a name, or with a number of a user, wherever accounts are kept (getent(1)). */
export function findAccount(name: string): Promise<Account | undefined> {
  if (name === '' || name.startsWith('-')) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    execFile('getent', ['passwd', name], { cwd: '/' }, (error, stdout) => {
      if (error === null) resolve(parse(stdout));
      else if (isSystemError(error, 'ENOENT'))
        reject(new MendError('"getent" was not found: install it, which says what users there are'));
      else resolve(undefined);
    });
  });
}

function parse(line: string): Account | undefined {
  const [name, , uid, gid, , home] = line.split('\n')[0]?.split(':') ?? [];
  if (!name || !/^\d+$/.test(uid ?? '') || !/^\d+$/.test(gid ?? '') || home === undefined) return undefined;
  return { name, uid: Number(uid), gid: Number(gid), home };
}

/**
 * The account of a person who can have memory of their own.
 * @throws {MendError} when there is no such user, it is root, or it has no home.
 */
export async function personNamed(name: string): Promise<Account> {
  const account = await findAccount(name);
  if (!account) throw new MendError(`there is no user "${name}": give the name of a user of this machine`);
  if (account.uid === 0)
    throw new MendError(`"${name}" is root, who is nobody's person: give the name of another user`);
  if (!isFolder(account.home))
    throw new MendError(`the home ${account.home} of "${account.name}" is no folder: make it first`);
  return account;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}
