import type { Command } from 'commander';
import { announceSurely } from '../../daemon/control-client.js';
import { type DaemonStatus, statusRequest } from '../../daemon/control-protocol.js';
import { askDaemon } from '../../daemon/launch.js';
import { processSpace } from '../../daemon/process-space.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { livingProcesses } from '../../daemon/session-register.js';
import { pinProcesses } from '../../daemon/shared-processes.js';
import { MendError } from '../../errors.js';
import type { NamedSession } from '../../store/named-sessions.js';
import { makeScratch } from '../../store/scratch-folder.js';
import type { Store } from '../../store/store.js';
import { ownStoreFolder, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { projectCommand } from '../memory-command.js';
import { servingProcesses, sessionByName } from '../named-session.js';
import { printLine } from '../output.js';
import type { Run } from '../program.js';
import { sessionName } from '../session-name.js';

export function addSessionShare(command: Command, run: Run): void {
  command
    .description(
      'mark a session as steered by several people: from now on it sees an empty memory folder, and what it writes there is thrown away when it is ended; this cannot be undone',
    )
    .summary('several people steer a session: it sees no memory from now on')
    .argument('<session>', 'its name')
    .action((name: string) => run(() => share(sessionName(name))));
}

async function share(name: string): Promise<ExitStatus> {
  const serving = await servingProcesses();
  const status = await askDaemon(ownStoreFolder(), (rpc) => rpc.sendRequest(statusRequest));
  const { isNews, within } = await withStore(false, (store) => {
    const shared = store.write(() => {
      const session = sessionByName(store, name);
      if (session.ended !== null) throw new MendError(`session "${name}" has ended: what it knew is not gone on with`);
      const { named } = store.sessions;
      if (session.shared === null) refuseUnmounted(store, session, status?.mounts ?? []);
      named.share(session.id, store.now);
      makeScratch(store.folder, session.id);
      return { isNews: session.shared === null, within: shareWithin(store, session.id) };
    }, true);
    pinProcesses(store, processSpace(), serving);
    return shared;
  });
  if (!(await announceSurely(runtimeFiles(ownStoreFolder()))))
    throw new MendError(
      `session "${name}" is marked as shared, but a daemon does not answer: end the programs of the session, then run "mend status"`,
    );
  printLine(
    isNews
      ? `shared session "${name}": it sees an empty memory folder from now on, what it writes there is thrown away when it is ended, and this cannot be undone`
      : `session "${name}" is shared already`,
  );
  for (const other of within) printLine(`shared session "${other}", which was started within it`);
  return ExitStatus.done;
}

/** @throws {MendError} when programs of the session run, and see the plain folder in the place of a mount. */
function refuseUnmounted(
  store: Store,
  { id, name, project, harness }: NamedSession,
  mounts: DaemonStatus['mounts'],
): void {
  if (!livingProcesses(store, processSpace()).some((one) => one.id === id)) return;
  const owner = store.projects.byId(project)?.name;
  if (mounts.some((mount) => mount.project === owner && mount.harness === harness)) return;
  throw new MendError(
    `the memory of session "${name}" is not mounted, so its programs would go on seeing the plain folder: run ${projectCommand('mount', owner)} first, or end them`,
  );
}

/** Shares what was started within a session and still runs, too; gives back the names. */
function shareWithin(store: Store, id: number): string[] {
  const { named } = store.sessions;
  const list = named.list();
  const running = new Set(livingProcesses(store, processSpace()).map((one) => one.id));
  return named.begunWithin(id).flatMap((within) => {
    const session = list.find((one) => one.id === within);
    if (!session || session.shared !== null || !running.has(within)) return [];
    named.share(within, store.now);
    makeScratch(store.folder, within);
    return [session.name, ...shareWithin(store, within)];
  });
}
