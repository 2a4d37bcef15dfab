import { dirname } from 'node:path';
import type { Command } from 'commander';
import { announceToDaemons } from '../../daemon/control-client.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { MendError } from '../../errors.js';
import { carriers } from '../../import/carrier.js';
import type { NamedSession } from '../../store/named-sessions.js';
import { removeScratch } from '../../store/scratch-folder.js';
import type { Store } from '../../store/store.js';
import { ownStoreFolder, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { entriesOf, type SessionEntry, servingProcesses, sessionByName } from '../named-session.js';
import { complain, counted, printLine } from '../output.js';
import type { Run } from '../program.js';
import { refuseShared } from '../refuse-shared.js';
import { sessionName } from '../session-name.js';

export function addSessionEnd(command: Command, run: Run): void {
  command
    .description('end a session: what it knew is not gone on with, and its name is free; its programs are left alone')
    .summary('end a session; its programs are left alone')
    .argument('<session>', 'its name')
    .action((name: string) => run(() => end(sessionName(name))));
}

async function end(name: string): Promise<ExitStatus> {
  refuseShared();
  const serving = await servingProcesses();
  const before = await withStore(false, async (store) => {
    await withhold(store, sessionByName(store, name));
    return store.write((): SessionEntry | undefined => {
      const session = sessionByName(store, name);
      if (session.ended !== null) throw new MendError(`session "${name}" has ended already`);
      const [entry] = entriesOf(store, [session], serving);
      store.sessions.named.end(session.id, store.now);
      return entry;
    }, true);
  });
  await announceToDaemons(runtimeFiles(ownStoreFolder()));
  if (before) removeScratch(ownStoreFolder(), before.id);
  printLine(`ended session "${name}"`);
  const count = before?.processes.length ?? 0;
  if (count > 0)
    complain(
      `${counted(count, 'process', 'processes')} of it still run, and count from now on as those of other programs${
        before?.shared === null ? '' : ', which see memory'
      }`,
    );
  return ExitStatus.done;
}

/** What a shared session left in the homes of its agent is never taken for memory. */
async function withhold(store: Store, { project, harness, shared, ended }: NamedSession): Promise<void> {
  const carrier = carriers[harness];
  const tree = store.trees.find(project, harness);
  if (!carrier || !tree || shared === null || ended !== null) return;
  const homes = new Set(store.trees.mountsOf(tree.id, store.machine).map((path) => dirname(path)));
  for (const home of homes) await carrier.withhold(store, { tree, home }, shared);
}
