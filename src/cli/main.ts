import { Command, CommanderError } from 'commander';
import { ResponseError } from 'vscode-jsonrpc/node.js';
import { runDaemon } from '../daemon/run.js';
import { version } from '../daemon/version.js';
import { isSystemError, MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import { addAdopt } from './commands/adopt.js';
import { addMemory } from './commands/memory.js';
import { addMount } from './commands/mount.js';
import { addProject } from './commands/project.js';
import { addStatus } from './commands/status.js';
import { addUnmount } from './commands/unmount.js';
import { ownStoreFolder } from './context.js';
import { ExitStatus } from './exit-status.js';
import { complain } from './output.js';

/** Runs the command line; resolves with the exit status. */
export async function main(argv: readonly string[]): Promise<ExitStatus> {
  let status: ExitStatus = ExitStatus.done;
  const run = async (work: () => Promise<ExitStatus>): Promise<void> => {
    status = await work();
  };
  process.stdout.on('error', (error) => {
    // A reader that closes its end early (`mend memory | head`) has seen enough.
    if (isSystemError(error, 'EPIPE')) process.exit(status);
    complain(`the output could not be written: ${error.message}`);
    process.exit(ExitStatus.failed);
  });
  try {
    await build(run).parseAsync(argv as string[]);
    return status;
  } catch (error) {
    return explain(error);
  }
}

function build(run: (work: () => Promise<ExitStatus>) => Promise<void>): Command {
  const program = new Command('mend')
    .description('live, versioned, merge-safe memory for coding agents')
    .version(version)
    .enablePositionalOptions()
    .configureOutput({ outputError: (text) => complain(`${sentence(text)}: "mend help" says what there is`) })
    .exitOverride();
  addMount(program, run);
  addUnmount(program, run);
  addStatus(program, run);
  addAdopt(program, run);
  addMemory(program, run);
  addProject(program, run);
  program.command('daemon', { hidden: true }).action(async () => {
    await runDaemon(ownStoreFolder());
    status(process.exitCode);
  });
  const status = (code: typeof process.exitCode): Promise<void> =>
    run(async () => (code ? ExitStatus.failed : ExitStatus.done));
  return program;
}

/** Commander's complaint as one sentence: without its prefix, and with what else it says after a comma. */
function sentence(text: string): string {
  return text
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (.*)\?\)/, ', perhaps you mean $1')
    .replace(/\. Expected/, ', expected')
    .replace(/\.?\n$/, '');
}

/** Prints an error as one sentence, and gives its exit status. */
function explain(error: unknown): ExitStatus {
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitStatus.done : ExitStatus.usage;
  if (error instanceof MendError) {
    complain(error.message);
    return error.kind === 'usage' ? ExitStatus.usage : ExitStatus.failed;
  }
  if (error instanceof ResponseError) {
    complain(error.message);
    return ExitStatus.failed;
  }
  // Nobody foresaw this one; where it comes from is for whoever looks into it.
  log('debug', 'mend failed', { error: describeError(error) });
  complain(`${error instanceof Error ? error.message : String(error)} (unexpected: MEND_LOG=debug shows where)`);
  return ExitStatus.failed;
}
