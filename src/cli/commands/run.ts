import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { beginSessionRequest, joinSessionRequest, leaveSessionRequest } from '../../daemon/control-protocol.js';
import { askDaemon, askStartedDaemon, type DaemonWork } from '../../daemon/launch.js';
import { startedHarness } from '../../harness/registry.js';
import { describeError, log } from '../../log.js';
import { bringUp } from '../bring-up.js';
import { currentFolder, ownStoreFolder } from '../context.js';
import { findProgram, NoProgram } from '../find-program.js';
import { refuseOthersSession } from '../named-session.js';
import { complain } from '../output.js';
import type { Run } from '../program.js';
import { endAs, runProgram } from '../run-program.js';
import { sessionName } from '../session-name.js';

/** Longest wait, in ms, for the daemon to be told that the program has ended. */
const PATIENCE = 3000;

interface RunOptions {
  readonly session?: string;
  readonly project?: string;
}

export function addRun(program: Command, run: Run): void {
  program
    .command('run')
    .description('start an agent with its memory mounted, as a session with a name')
    .summary('start an agent with its memory mounted')
    .usage('[options] <harness> [args...]')
    .argument('<harness>', 'the agent, such as claude')
    .argument('[args...]', 'what its program gets, as it is')
    .option('--session <id>', 'name of the session: a new one, or that of an earlier one to go on with')
    .option('--project <name>', 'the project, from any folder: the agent starts in a checkout of it')
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Options of mend stand before the agent; what is behind it goes to the program.

The exit status is that of the program. When a signal ends it, mend ends by
the same signal. It is 127 where there is no such program, and 126 where it
cannot be run; what keeps mend from starting it gives 1 or 2, as everywhere.`,
    )
    .action((name: string, args: string[], options: RunOptions) => run(() => runHarness(name, args, options)));
}

async function runHarness(name: string, args: readonly string[], options: RunOptions): Promise<number> {
  const harness = startedHarness(name);
  const chosen = options.session === undefined ? undefined : sessionName(options.session);
  try {
    const program = findProgram(harness, process.env, currentFolder());
    if (chosen !== undefined) await refuseOthersSession(chosen, harness.name, options.project);
    const { place, project, cwd, changes } = await bringUp(harness, options.project);
    const all = harness.launch.args?.(place, args) ?? args;
    const session = chosen ?? `${harness.name}-${randomBytes(4).toString('hex')}`;
    const begin = { name: session, chosen: chosen !== undefined, harness: harness.name, project: project.id };
    await askStartedDaemon(ownStoreFolder(), (rpc) => rpc.sendRequest(beginSessionRequest, begin));
    // Until the daemon knows the program itself, it knows it as a child of this process.
    let joined: Promise<void> = Promise.resolve();
    const started = (pid: number): void => {
      joined = tell((rpc) => rpc.sendRequest(joinSessionRequest, pid));
    };
    const ending = await runProgram(program, { given: args, args: all, changes, cwd, started });
    await joined;
    await tell((rpc) => rpc.sendRequest(leaveSessionRequest));
    return endAs(ending);
  } catch (error) {
    if (!(error instanceof NoProgram)) throw error;
    complain(error.message);
    return error.status;
  }
}

/** Tells the daemon of something that the program need not wait for, and that no failure of may disturb. */
async function tell(work: DaemonWork<unknown>): Promise<void> {
  const told = askDaemon(ownStoreFolder(), work).catch((error: unknown) =>
    log('debug', 'the daemon was not told', { error: describeError(error) }),
  );
  await Promise.race([told, new Promise((resolve) => setTimeout(resolve, PATIENCE).unref())]);
}
