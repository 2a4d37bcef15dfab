import type { Command } from 'commander';
import { replaceRequest, statusRequest } from '../../daemon/control-protocol.js';
import { askDaemon } from '../../daemon/launch.js';
import { MendError } from '../../errors.js';
import { ownStoreFolder } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { printLine } from '../output.js';

export function addDaemon(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  const daemon = program.command('daemon').description('the processes behind the mounts');
  daemon
    .command('restart')
    .description('have a new process serve the mounts, as after an upgrade; open files go on')
    .action(() => run(restart));
}

async function restart(): Promise<ExitStatus> {
  const folder = ownStoreFolder();
  const before = await askDaemon(folder, (rpc) => rpc.sendRequest(statusRequest));
  if (!before) throw new MendError('no daemon runs: "mend mount" starts one');
  // Whoever answers with another process id is the new one; the old one answers only when it could not be replaced.
  const after = await askDaemon(folder, async (rpc) => {
    const status = await rpc.sendRequest(statusRequest);
    if (status.pid === before.pid) await rpc.sendRequest(replaceRequest);
    return status;
  });
  if (!after) throw new MendError('the daemon ended: run "mend mount" in each checkout');
  printLine(`mend ${after.version} serves, process ${after.pid}`);
  return ExitStatus.done;
}
