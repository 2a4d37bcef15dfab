import { isForPeople, type MountAnswer, type MountRequest } from '../daemon/control-protocol.js';
import { ExitStatus } from './exit-status.js';
import { memoryCommand } from './memory-command.js';
import { complain, complainOnce, counted, printLine, quoted } from './output.js';
import type { Wanted } from './wanted-mounts.js';

/** Mounts one after the other. One that fails does not keep the others from being tried. */
export async function mountAll(
  wanted: readonly Wanted[],
  mountOne: (request: MountRequest) => Promise<MountAnswer>,
): Promise<ExitStatus> {
  const statuses: ExitStatus[] = [];
  const say = complainOnce();
  for (const { request, given, faults } of wanted) {
    try {
      statuses.push(tell(await mountOne(request), given));
      if (faults.length > 0) statuses.push(ExitStatus.unsettled);
      faults.forEach(say);
    } catch (error) {
      if (!isForPeople(error)) throw error;
      say(error.message);
      statuses.push(ExitStatus.failed);
    }
  }
  if (statuses.every((status) => status === ExitStatus.failed)) return ExitStatus.failed;
  return statuses.every((status) => status === ExitStatus.done) ? ExitStatus.done : ExitStatus.unsettled;
}

function tell(answer: MountAnswer, given: string | undefined): ExitStatus {
  const { path, already, taken } = answer;
  printLine(`${already ? 'already mounted' : 'mounted'} ${quoted(path)}`);
  const changed = ['added', 'updated', 'merged'].reduce((sum, outcome) => sum + (taken[outcome] ?? 0), 0);
  if (changed > 0) printLine(`took in ${counted(changed, 'file')} that lay there`);
  return tellNotes(answer, given);
}

/** Says what is left to settle of files that lay in a folder when it was mounted. */
export function tellNotes({ taken, partly, skipped }: MountAnswer, given: string | undefined): ExitStatus {
  for (const file of partly)
    complain(
      `${quoted(file)} was merged without lines that the store had removed: ${memoryCommand(given, 'log')} has it whole`,
    );
  const conflicts = taken['conflict'] ?? 0;
  if (conflicts > 0)
    complain(
      `${counted(conflicts, 'file')} in the folder could not be merged with what the store has: the store's stays, the folder's is kept as a version, which ${memoryCommand(given, 'log')} lists`,
    );
  for (const file of skipped) complain(`left out ${quoted(file.path)}: it ${file.reason}`);
  return conflicts > 0 || skipped.length > 0 ? ExitStatus.unsettled : ExitStatus.done;
}
