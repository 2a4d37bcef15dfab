import { isSystemError, MendError } from '../../errors.js';
import { printable } from '../../project/printable.js';
import { ExitStatus } from '../exit-status.js';
import { complain } from '../output.js';

/** A person by what was given for them, or by a record. */
type Somebody = string | { readonly uid: number };

/**
 * Does the same for several people. One for whom it fails does not keep the others from it.
 * @returns failed when it failed for all, unsettled when for some
 */
export async function forEach<T extends Somebody>(
  people: readonly T[],
  work: (person: T) => Promise<ExitStatus> | ExitStatus,
): Promise<ExitStatus> {
  const statuses: ExitStatus[] = [];
  for (const person of people) statuses.push(await statusOf(person, work));
  return sum(statuses);
}

/** As many as are served at once. */
const AT_ONCE = 8;

/** As `forEach`, for several at once: one who keeps it waiting does not keep the others waiting. */
export async function forAll<T extends Somebody>(
  people: readonly T[],
  work: (person: T) => Promise<ExitStatus>,
): Promise<ExitStatus> {
  const left = [...people];
  const statuses: ExitStatus[] = [];
  const serve = async (): Promise<void> => {
    for (let person = left.shift(); person !== undefined; person = left.shift())
      statuses.push(await statusOf(person, work));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, serve));
  return sum(statuses);
}

async function statusOf<T extends Somebody>(
  person: T,
  work: (person: T) => Promise<ExitStatus> | ExitStatus,
): Promise<ExitStatus> {
  try {
    return await work(person);
  } catch (error) {
    if (!(error instanceof MendError) && !isSystemError(error)) throw error;
    if (error instanceof MendError && error.kind === 'usage') throw error;
    complain(
      error instanceof MendError
        ? error.message
        : `user "${printable(typeof person === 'string' ? person : String(person.uid))}" could not be served (${error.code}): mend that, and run this again`,
    );
    return ExitStatus.failed;
  }
}

function sum(statuses: readonly ExitStatus[]): ExitStatus {
  if (statuses.every((status) => status === ExitStatus.done)) return ExitStatus.done;
  return statuses.every((status) => status === ExitStatus.failed) ? ExitStatus.failed : ExitStatus.unsettled;
}
