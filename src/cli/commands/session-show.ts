import type { Command } from 'commander';
import { withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { entriesOf, servingProcesses, sessionByName, sessionDocument, stateOf } from '../named-session.js';
import { localTime, printJson, printLine } from '../output.js';
import type { Run } from '../program.js';
import { sessionName } from '../session-name.js';

export function addSessionShow(command: Command, run: Run): void {
  command
    .description('what is known of a session; of its files only how many')
    .argument('<session>', 'its name')
    .option('--json', 'print one JSON document')
    .action((name: string, options: { json?: boolean }) => run(() => show(sessionName(name), options.json === true)));
}

async function show(name: string, json: boolean): Promise<ExitStatus> {
  const serving = await servingProcesses();
  const { entry, trace } = await withStore(false, (store) => {
    const session = sessionByName(store, name);
    const [found] = entriesOf(store, [session], serving);
    return { entry: found, trace: store.sessions.named.trace(session.id) };
  });
  if (!entry) return ExitStatus.failed;
  if (json) {
    printJson({ ...sessionDocument(entry), files_known: trace.known, files_changed: trace.changed });
    return ExitStatus.done;
  }
  printLine(`session ${entry.session}, ${stateOf(entry)}`);
  if (entry.shared !== null)
    printLine(`shared ${localTime(entry.shared)}: it sees no memory, and what it writes is thrown away`);
  printLine(`agent ${entry.harness}, project ${entry.project}`);
  printLine(`began ${localTime(entry.began)}, last used ${localTime(entry.last)}`);
  printLine(`processes ${entry.processes.length === 0 ? 'none' : entry.processes.join(' ')}`);
  printLine(`files known ${trace.known}, changed ${trace.changed}`);
  return ExitStatus.done;
}
