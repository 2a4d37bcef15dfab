import type { Command } from 'commander';
import { MendError, usageError } from '../../errors.js';
import type { MemoryHarness } from '../../harness/adapter.js';
import { printable } from '../../project/printable.js';
import { discoverRepository } from '../../project/repository.js';
import { projectByName } from '../../project/resolve.js';
import { type MountAnswer, type MountRequest, mountRequest } from '../../daemon/control-protocol.js';
import { Daemon } from '../../daemon/daemon.js';
import { ensureDaemon } from '../../daemon/launch.js';
import type { Store } from '../../store/store.js';
import { chosenHarnesses, harnessEnvironment, ownStoreFolder, projectOf, repositoryOf, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { complain, counted, printLine, quoted } from '../output.js';

interface MountOptions {
  readonly project?: string;
  readonly harness?: string;
  readonly all?: boolean;
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
    .option('--foreground', 'serve in this process until everything is unmounted')
    .action((folder: string | undefined, options: MountOptions) => run(() => mount(folder, options)));
}

async function mount(folder: string | undefined, options: MountOptions): Promise<ExitStatus> {
  if (options.all && (folder !== undefined || options.project !== undefined)) throw usageError('--all takes every project: leave out the folder and --project');
  if (folder !== undefined && options.project !== undefined) throw usageError('give a folder or --project, not both');
  const harnesses = chosenHarnesses(options.harness);
  const requests = await withStore(true, (store) => (options.all ? everyProject(store, harnesses) : oneProject(store, folder, options.project, harnesses)));
  if (requests.length === 0) throw new MendError('no project has a checkout on this machine: run "mend mount" in one first');
  return options.foreground ? serveHere(requests) : serveInBackground(requests);
}

async function oneProject(store: Store, folder: string | undefined, name: string | undefined, harnesses: readonly MemoryHarness[]): Promise<MountRequest[]> {
  const repository = name === undefined ? await repositoryOf(folder) : undefined;
  const project = repository ? projectOf(store, repository) : projectByName(store.projects, name ?? '');
  const checkout = repository ? repository.root : checkoutsOf(store, project.id)[0];
  if (checkout === undefined) throw new MendError(`project "${project.name}" has no checkout on this machine: run "mend mount" in one`);
  return requestsFor(project.id, checkout, harnesses);
}

async function everyProject(store: Store, harnesses: readonly MemoryHarness[]): Promise<MountRequest[]> {
  const requests: MountRequest[] = [];
  for (const project of store.projects.list(store.machine)) {
    for (const path of checkoutsOf(store, project.id)) {
      try {
        await discoverRepository(path);
        requests.push(...requestsFor(project.id, path, harnesses));
      } catch (error) {
        if (!(error instanceof MendError)) throw error;
        complain(`left out ${printable(path)} of project "${project.name}": ${error.message}`);
      }
    }
  }
  return requests;
}

function checkoutsOf(store: Store, project: number): readonly string[] {
  return store.projects.list(store.machine).find((row) => row.id === project)?.paths ?? [];
}

function requestsFor(project: number, checkout: string, harnesses: readonly MemoryHarness[]): MountRequest[] {
  const env = harnessEnvironment();
  return harnesses.map((harness) => ({ project, harness: harness.name, path: harness.memoryFolder(checkout, env), checkout }));
}

async function serveInBackground(requests: readonly MountRequest[]): Promise<ExitStatus> {
  const client = await ensureDaemon(ownStoreFolder());
  try {
    let status: ExitStatus = ExitStatus.done;
    for (const request of requests) status = worse(status, tell(await client.rpc.sendRequest(mountRequest, request)));
    return status;
  } finally {
    client.close();
  }
}

async function serveHere(requests: readonly MountRequest[]): Promise<ExitStatus> {
  const daemon = await Daemon.start(ownStoreFolder());
  if (!daemon) throw new MendError('a daemon serves this store already: leave out --foreground, or run "mend unmount --all" first');
  let status: ExitStatus = ExitStatus.done;
  try {
    for (const request of requests) status = worse(status, tell(await daemon.mounter.mount(request)));
  } catch (error) {
    await daemon.stop();
    throw error;
  }
  return new Promise((resolve) => {
    const end = (): void => {
      daemon.stop().then(() => resolve(status));
    };
    process.once('SIGINT', end).once('SIGTERM', end).once('SIGHUP', end);
    daemon.whenIdle(end);
  });
}

function tell({ path, already, taken, skipped }: MountAnswer): ExitStatus {
  printLine(`${already ? 'already mounted' : 'mounted'} ${quoted(path)}`);
  const changed = ['added', 'updated', 'conflict'].reduce((sum, outcome) => sum + (taken[outcome] ?? 0), 0);
  if (changed > 0) printLine(`took in ${counted(changed, 'file')} that lay there`);
  const conflicts = taken['conflict'] ?? 0;
  if (conflicts > 0) complain(`${counted(conflicts, 'file')} changed in the folder and in the store: the newer content is used, the other is kept; see "mend memory log"`);
  for (const file of skipped) complain(`left out ${quoted(file.path)}: it ${file.reason}`);
  return conflicts > 0 || skipped.length > 0 ? ExitStatus.unsettled : ExitStatus.done;
}

function worse(a: ExitStatus, b: ExitStatus): ExitStatus {
  return a > b ? a : b;
}
