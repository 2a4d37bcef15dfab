import type { Command } from 'commander';
import { MendError } from '../../errors.js';
import { linesOf, runAs } from '../admin/as-person.js';
import { refuseOthers } from '../admin/only-root.js';
import { accountOf, listPeople, type PersonRecord, recordPerson } from '../admin/people.js';
import { forEach } from '../admin/several.js';
import { disableUnit, systemdRuns } from '../admin/systemd.js';
import { ExitStatus } from '../exit-status.js';
import { complain, printLine } from '../output.js';
import { findAccount } from '../people/account.js';
import { openSystemFolder } from '../people/system-folder.js';
import type { Run } from '../program.js';

export function addAdminDisable(command: Command, run: Run): void {
  command
    .description('no longer mount the memory of users at boot; their memory stays')
    .argument('<user...>')
    .option('--stop', 'also take off what is mounted now, which ends the daemon')
    .addHelpText('after', HELP)
    .action((names: string[], { stop }: { stop?: boolean }) => run(() => disable(names, stop === true)));
}

const HELP = `
Stores stay as they are, and their owners can go on to use them by hand. What
is mounted stays so, but with --stop; a mount with open files stays even then.`;

async function disable(names: readonly string[], stop: boolean): Promise<ExitStatus> {
  refuseOthers();
  process.umask(0o022);
  return forEach([...new Set(names)], (name) => disableOne(name, stop));
}

async function disableOne(given: string, stop: boolean): Promise<ExitStatus> {
  const record = await recordNamed(given);
  if (!record) throw new MendError(`"${given}" was never enabled: "mend admin status" lists who was`);
  const status = stop ? await stopFor(record) : ExitStatus.done;
  const isThere = (await findAccount(record.name)) !== undefined;
  if (systemdRuns() && record.enabled && isThere) await disableUnit(record);
  const system = openSystemFolder(false);
  if (!system) throw new MendError('the folder with the stores is gone: look for what removed it');
  try {
    recordPerson(system, { ...record, enabled: false, linger: false });
  } finally {
    system.close();
  }
  printLine(`${record.enabled ? 'disabled' : 'already disabled'} ${record.name}`);
  return status;
}

/** A user who is gone can still be named: by what the name or number was. */
async function recordNamed(given: string): Promise<PersonRecord | undefined> {
  const uid = (await findAccount(given))?.uid;
  const { people, damaged } = listPeople();
  const fault = damaged.find((one) => one.uid === uid || String(one.uid) === given)?.fault;
  if (fault) throw fault;
  return people.find((one) => one.uid === uid || one.name === given || String(one.uid) === given);
}

async function stopFor(record: PersonRecord): Promise<ExitStatus> {
  const { status, stderr, stdout } = await runAs(await accountOf(record), ['unmount', '--all']);
  for (const line of linesOf(stdout)) printLine(`${record.name}: ${line}`);
  for (const line of linesOf(stderr)) complain(`${record.name}: ${line}`);
  return status === 0 ? ExitStatus.done : ExitStatus.unsettled;
}
