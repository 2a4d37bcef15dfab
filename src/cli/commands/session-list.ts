import type { Command } from 'commander';
import { storeExists } from '../../store/location.js';
import { ownStoreFolder, withStore } from '../context.js';
import { refuseWords } from '../default-command.js';
import { ExitStatus } from '../exit-status.js';
import { entriesOf, type SessionEntry, servingProcesses, sessionDocument, stateOf } from '../named-session.js';
import { localTime, printJson, printLine, printTable } from '../output.js';
import type { Run } from '../program.js';

interface ListOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

export function addSessionList(command: Command, parent: Command, run: Run): void {
  command
    .description('list the sessions, the last used first')
    .option('--all', 'also those that were ended')
    .option('--json', 'print one JSON document')
    .allowExcessArguments()
    .action((options: ListOptions, self: Command) => {
      refuseWords(parent, self);
      const { all = false, json = false } = { ...parent.opts<ListOptions>(), ...options };
      return run(() => list(all, json));
    });
}

async function list(all: boolean, json: boolean): Promise<ExitStatus> {
  const entries = storeExists(ownStoreFolder()) ? await found(all) : [];
  if (json) printJson(entries.map(sessionDocument));
  else if (entries.length === 0) printLine('there is no session: "mend run <harness>" starts one');
  else
    printTable(
      ['session', 'agent', 'project', 'began', 'last used', 'processes', 'state'],
      entries.map((entry) => [
        ...[entry.session, entry.harness, entry.project, localTime(entry.began), localTime(entry.last)],
        ...[String(entry.processes.length), stateOf(entry)],
      ]),
      [5],
    );
  return ExitStatus.done;
}

async function found(all: boolean): Promise<SessionEntry[]> {
  const serving = await servingProcesses();
  return withStore(false, (store) => {
    const sessions = store.sessions.named.list().filter(({ ended }) => all || ended === null);
    return entriesOf(store, sessions, serving);
  });
}
