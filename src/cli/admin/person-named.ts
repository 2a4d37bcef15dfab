import { statSync } from 'node:fs';
import { isSystemError, MendError } from '../../errors.js';
import { type Account, findAccount } from '../people/account.js';

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
