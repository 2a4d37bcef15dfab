import type { Command } from 'commander';
import { mountRequest } from '../../daemon/control-protocol.js';
import { askDaemon, askStartedDaemon } from '../../daemon/launch.js';
import { checkFuse } from '../../daemon/preflight.js';
import { ANOTHER_SERVES, READY } from '../../daemon/readiness.js';
import { Supervisor } from '../../daemon/supervisor.js';
import { MendError, usageError } from '../../errors.js';
import { hasStore, ownStoreFolder } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { mountedHarnesses } from '../harness-choice.js';
import { mountAll } from '../mount-all.js';
import { printLine } from '../output.js';
import { daemonRuns, type Wanted, wantedMounts } from '../wanted-mounts.js';

const SERVED = 'a daemon serves this store already: leave out --foreground, or run "mend unmount --all" first';

interface MountOptions {
  readonly project?: string;
  readonly harness?: string;
  readonly all?: boolean;
  readonly ifAny?: boolean;
  readonly foreground?: boolean;
}

export function addMount(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  program
    .command('mount')
    .description("mount agents' memory of a repository over their memory folders")
    .argument('[checkout]', 'a folder of the repository (default: this one)')
    .option('--project <name>', 'the project, from any folder')
    .option('--harness <name>', 'only this harness')
    .option('--all', 'every project that has a checkout on this machine')
    .option('--if-any', 'with --all: nothing to mount is no failure, as at boot')
    .option('--foreground', 'serve in this process until everything is unmounted')
    .action((folder: string | undefined, options: MountOptions) => run(() => mount(folder, options)));
}

async function mount(folder: string | undefined, options: MountOptions): Promise<ExitStatus> {
  if (options.all && (folder !== undefined || options.project !== undefined))
    throw usageError('--all takes every project: leave out the folder and --project');
  if (folder !== undefined && options.project !== undefined) throw usageError('give a folder or --project, not both');
  if (options.ifAny && !options.all) throw usageError('--if-any goes with --all, which takes whatever there is');
  const choose = mountedHarnesses(options.harness);
  const store = ownStoreFolder();
  if (options.ifAny && !hasStore()) return nothing();
  const running = await daemonRuns(store);
  if (!running) checkFuse();
  if (running && options.foreground) throw new MendError(SERVED);
  const { wanted, left } = await wantedMounts(folder, options, choose, !running);
  if (wanted.length === 0 && !left && options.ifAny) return nothing();
  if (wanted.length === 0)
    throw new MendError(
      left
        ? 'nothing was mounted: settle what was left out, or run "mend mount" in a checkout'
        : 'no project has a checkout on this machine: run "mend mount" in one first',
    );
  const status = await (options.foreground ? serveHere(wanted) : serveInBackground(wanted));
  return left && status === ExitStatus.done ? ExitStatus.unsettled : status;
}

function nothing(): ExitStatus {
  printLine('there is nothing to mount yet');
  return ExitStatus.done;
}

function serveInBackground(wanted: readonly Wanted[]): Promise<ExitStatus> {
  return askStartedDaemon(ownStoreFolder(), (rpc) =>
    mountAll(wanted, (request) => rpc.sendRequest(mountRequest, request)),
  );
}

async function serveHere(wanted: readonly Wanted[]): Promise<ExitStatus> {
  process.chdir('/');
  process.umask(0o077);
  const folder = ownStoreFolder();
  let ended: Promise<number> | undefined;
  const words = await new Promise<string>((told) => {
    ended = new Promise((ends) => new Supervisor(folder, told, ends));
  });
  if (words === ANOTHER_SERVES) throw new MendError(SERVED);
  if (words !== READY) throw new MendError(words);
  const status = await askDaemon(folder, (rpc) =>
    mountAll(wanted, (request) => rpc.sendRequest(mountRequest, request)),
  );
  // Without a mount it ends by itself.
  const code = await ended;
  return code === 0 ? (status ?? ExitStatus.failed) : ExitStatus.failed;
}
