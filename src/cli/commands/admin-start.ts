import type { Command } from 'commander';
import { linesOf, runAs } from '../admin/as-person.js';
import { refuseOthers } from '../admin/only-root.js';
import { accountOf, type DamagedRecord, listPeople, type PersonRecord } from '../admin/people.js';
import { forAll } from '../admin/several.js';
import { startUnit, systemdRuns } from '../admin/systemd.js';
import { ExitStatus } from '../exit-status.js';
import { complain, printLine } from '../output.js';
import type { Run } from '../program.js';

export function addAdminStart(command: Command, run: Run): void {
  command
    .description('mount the memory of everybody who is enabled, each as themselves')
    .addHelpText('after', HELP)
    .action(() => run(start));
}

const HELP = `
For the start of a machine or container without systemd. For each person it
becomes that person, and runs "mend mount --all". One for whom that fails
keeps nobody else waiting; the status is 3 then, and 1 when all fail.`;

async function start(): Promise<ExitStatus> {
  refuseOthers();
  const { people, damaged } = listPeople();
  const all = [...damaged, ...people.filter(({ enabled }) => enabled)];
  if (all.length === 0) printLine('nobody is enabled');
  return forAll(all, startOne);
}

async function startOne(record: PersonRecord | DamagedRecord): Promise<ExitStatus> {
  if ('fault' in record) throw record.fault;
  const account = await accountOf(record);
  if (systemdRuns()) {
    await startUnit(account);
    printLine(`${account.name}: started the unit`);
    return ExitStatus.done;
  }
  const { status, stdout, stderr } = await runAs(account, ['mount', '--all', '--if-any']);
  for (const line of linesOf(stdout)) printLine(`${account.name}: ${line}`);
  for (const line of linesOf(stderr)) complain(`${account.name}: ${line}`);
  if (status === null) complain(`${account.name}: it took too long, and was given up`);
  return status === ExitStatus.done || status === ExitStatus.unsettled ? status : ExitStatus.failed;
}
