import type { Command } from 'commander';
import { printable } from '../../project/printable.js';
import { refuseOthers } from '../admin/only-root.js';
import { type PersonStatus, peopleStatus } from '../admin/person-status.js';
import { ExitStatus } from '../exit-status.js';
import { complain, printJson, printLine, printTable, quoted, sized } from '../output.js';
import type { Run } from '../program.js';

export function addAdminStatus(command: Command, run: Run): void {
  command
    .description('the daemon, mounts, store and health of everybody, without looking at memory')
    .option('--json', 'print one JSON document')
    .addHelpText('after', HELP)
    .action((options: { json?: boolean }) => run(() => status(options.json === true)));
}

const HELP = `
It reads the process table, the kernel's tables of mounts, and names, owners,
modes and sizes in the folders of stores. It enters no mount, opens no store,
and asks no daemon.`;

async function status(json: boolean): Promise<ExitStatus> {
  refuseOthers();
  const people = await peopleStatus();
  if (json) printJson(people);
  else print(people);
  return ExitStatus.done;
}

function print(people: readonly PersonStatus[]): void {
  if (people.length === 0) {
    printLine('nobody is enabled');
    return;
  }
  const rows = people.map(({ user, uid, enabled, pid, store, mounts }) => [
    user === null ? String(uid) : printable(user),
    enabled ? 'enabled' : 'not enabled',
    pid === null ? 'not running' : `process ${pid}`,
    String(mounts.length),
    store.bytes === null ? 'no store yet' : sized(store.bytes),
    quoted(store.path),
  ]);
  printTable(['user', '', 'daemon', 'mounts', 'size', 'store'], rows, [3]);
  for (const { user, uid, mounts } of people)
    for (const path of mounts) printLine(`${printable(user ?? String(uid))} has ${quoted(path)} mounted`);
  for (const { user, uid, faults } of people) for (const fault of faults) complain(`${user ?? uid}: ${fault}`);
}
