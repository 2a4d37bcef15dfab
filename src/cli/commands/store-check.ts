import type { Command } from 'commander';
import { refuseReplaced } from '../../daemon/unclean-stop.js';
import { printable } from '../../project/printable.js';
import { checkStore } from '../../store/check/check-store.js';
import { ownStoreFolder } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { complain, counted, printJson, printLine, quoted, sized } from '../output.js';
import type { Run } from '../program.js';

export function addStoreCheck(command: Command, run: Run): void {
  command
    .description('look for damage in the store; changes nothing')
    .option('--json', 'print one JSON document')
    .addHelpText('after', HELP)
    .action((options: { json?: boolean }) => run(async () => check(options.json === true)));
}

const HELP = `
Every page is read, every content is compared with its SHA-256, and so is what
the rows rely on each other for. It may be run while the memory is mounted. The
exit status is 0 when the store is sound, and 1 when it is damaged.`;

function check(json: boolean): ExitStatus {
  const folder = ownStoreFolder();
  refuseReplaced(folder);
  const { path, bytes, schema, faults } = checkStore(folder);
  const isSound = faults.length === 0;
  if (json) printJson({ path, bytes, schema, sound: isSound, faults });
  else if (isSound) printLine(`the store ${quoted(path)} is sound (schema ${schema}, ${sized(bytes)})`);
  else for (const { check, message } of faults) printLine(`${check.padEnd(WIDTH)}  ${printable(message)}`);
  if (isSound) return ExitStatus.done;
  complain(
    `the store ${path} is damaged, with ${counted(faults.length, 'fault')}: "mend store restore" puts a backup in its place`,
  );
  return ExitStatus.failed;
}

/** Characters of the longest name of a check. */
const WIDTH = 'references'.length;
