import type { Command } from 'commander';
import { MendError } from '../../errors.js';
import { linesOf, MAIN, runAs } from '../admin/as-person.js';
import { refuseOthers } from '../admin/only-root.js';
import { recordOf, recordPerson, refuseOtherPerson } from '../admin/people.js';
import { personNamed } from '../admin/person-named.js';
import { forEach } from '../admin/several.js';
import { prepareStoreFolder, storeFolderOf } from '../admin/store-folder.js';
import { enableUnit, installUnit, systemdRuns } from '../admin/systemd.js';
import { ExitStatus } from '../exit-status.js';
import { complain, printLine, quoted } from '../output.js';
import type { Account } from '../people/account.js';
import { openSystemFolder } from '../people/system-folder.js';
import type { Run } from '../program.js';

export function addAdminEnable(command: Command, run: Run): void {
  command
    .description('give users a store of their own, and have their memory mounted at boot')
    .argument('<user...>')
    .addHelpText('after', HELP)
    .action((names: string[]) => run(() => enable(names)));
}

const HELP = `
Each gets the folder /var/lib/mend/<uid>, which nobody else may enter. Where
systemd runs, a unit mounts their memory at boot. Elsewhere "mend admin start"
does, for all who are enabled: have the machine run it when it starts. Whoever
has a store in their home keeps it there.`;

async function enable(names: readonly string[]): Promise<ExitStatus> {
  refuseOthers();
  process.umask(0o022);
  if (systemdRuns()) installUnit();
  const status = await forEach([...new Set(names)], enableOne);
  if (!systemdRuns() && status !== ExitStatus.failed)
    printLine('have this machine run "mend admin start" as root when it starts');
  return status;
}

async function enableOne(given: string): Promise<ExitStatus> {
  const account = await personNamed(given);
  const record = recordOf(account.uid);
  refuseOtherPerson(record, account);
  const found = await storeOf(account);
  const system = openSystemFolder(true);
  try {
    prepareStoreFolder(system, account);
    const linger = systemdRuns() ? await enableUnit(account) : false;
    recordPerson(system, { ...account, enabled: true, linger: linger || record?.linger === true });
  } finally {
    system.close();
  }
  printLine(`${record?.enabled ? 'already enabled' : 'enabled'} ${account.name}`);
  if ('complaints' in found) {
    for (const line of found.complaints) complain(`${account.name}: ${line}`);
    return ExitStatus.unsettled;
  }
  if (found.bytes > 0 && !found.path.startsWith(`${storeFolderOf(account.uid)}/`))
    printLine(`${account.name} goes on with the store that is there, ${quoted(found.path)}`);
  return ExitStatus.done;
}

/**
 * Where the person's store is, and how large, or what mend says is wrong with it. Only the person looks.
 * @throws {MendError} when the program lies where they cannot read it.
 */
async function storeOf(account: Account): Promise<{ path: string; bytes: number } | { complaints: string[] }> {
  const { status, stdout, stderr } = await runAs(account, ['status', '--json']);
  if (status === ExitStatus.done) return (JSON.parse(stdout) as { store: { path: string; bytes: number } }).store;
  if ((await runAs(account, ['--version'])).status !== ExitStatus.done)
    throw new MendError(`"${account.name}" cannot run ${MAIN}: install mend where everybody may read it`);
  return { complaints: linesOf(stderr) };
}
