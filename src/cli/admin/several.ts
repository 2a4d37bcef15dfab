import { MendError } from '../../errors.js';
import { ExitStatus } from '../exit-status.js';
import { complain } from '../output.js';

/**
 * Does the same for several people. One for whom it fails does not keep the others from it.
 * @returns failed when it failed for all, unsettled when for some
 */
export async function forEach<T>(
  people: readonly T[],
  work: (person: T) => Promise<ExitStatus> | ExitStatus,
): Promise<ExitStatus> {
  const statuses: ExitStatus[] = [];
  for (const person of people) statuses.push(await statusOf(person, work));
  return sum(statuses);
}

/** As `forEach`, for all at once: one who keeps it waiting does not keep the others waiting. */
export async function forAll<T>(people: readonly T[], work: (person: T) => Promise<ExitStatus>): Promise<ExitStatus> {
  return sum(await Promise.all(people.map((person) => statusOf(person, work))));
}

async function statusOf<T>(person: T, work: (person: T) => Promise<ExitStatus> | ExitStatus): Promise<ExitStatus> {
  try {
    return await work(person);
  } catch (error) {
    if (!(error instanceof MendError)) throw error;
    complain(error.message);
    return ExitStatus.failed;
  }
}

function sum(statuses: readonly ExitStatus[]): ExitStatus {
  if (statuses.every((status) => status === ExitStatus.done)) return ExitStatus.done;
  return statuses.every((status) => status === ExitStatus.failed) ? ExitStatus.failed : ExitStatus.unsettled;
}
