import { MendError } from '../../errors.js';
import { recordOf, refuseOtherPerson } from '../admin/people.js';
import { type Account, findAccount } from '../people/account.js';

/**
 * The user whom the manifest names for a person.
 * @param user name or number
 * @throws {MendError} when there is none, it has no home, it is root, or its number was somebody else's, whose store it may be
 */
export async function creditedUser(user: string): Promise<Account> {
  const found = await findAccount(user);
  if (!found?.home.startsWith('/'))
    throw new MendError(`this machine has no user "${user}": make it, or correct the manifest`);
  if (found.uid !== 0) {
    refuseOtherPerson(recordOf(found.uid), found);
    return found;
  }
  throw new MendError(`user "${user}" is root, who is no person: correct the manifest`);
}
