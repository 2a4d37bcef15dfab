import { harnessOfProgram } from '../harness/registry.js';
import { Knowledge } from '../session/knowledge.js';
import { SessionFinder } from '../session/session-finder.js';
import type { Store } from '../store/store.js';
import type { TreeServices } from '../tree/tree.js';
import { JournalFile } from './journal-file.js';
import type { ServerData } from './messages.js';
import { bootId } from './process-space.js';
import { procProcesses } from './processes.js';

/** What trees need from outside, which the serving thread has one of. */
export function treeServices(
  store: Store,
  { journal: file, takesOver, machine }: ServerData,
  rest: Pick<TreeServices, 'merger' | 'tellPeers' | 'hasPeers'>,
): TreeServices {
  const clock = () => store.now;
  const journal = new JournalFile(file, takesOver);
  const harnessOf = (executable: string) => harnessOfProgram(executable)?.name;
  return {
    store,
    journal,
    clock,
    processes: procProcesses,
    sessions: new SessionFinder(procProcesses, clock, bootId(), harnessOf, journal),
    knowledge: new Knowledge((session, tree, path) => store.sessions.served(session, tree, path), journal),
    host: machine.name,
    ...rest,
  };
}
