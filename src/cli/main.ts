import { CommanderError } from 'commander';
import { ErrorCodes, ResponseError } from 'vscode-jsonrpc/node.js';
import { isSystemError, MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import { ExitStatus } from './exit-status.js';
import { noteDescriptors } from './inherited.js';
import { complain } from './output.js';
import { buildProgram } from './program.js';

/** Runs the command line; resolves with the exit status. */
export async function main(argv: readonly string[]): Promise<number> {
  // What follows opens descriptors of its own.
  if (argv[2] === 'run') noteDescriptors();
  let status: number = ExitStatus.done;
  const run = async (work: () => Promise<number>): Promise<void> => {
    status = await work();
  };
  process.stdout.on('error', (error) => {
    // A reader that closes its end early (`mend memory | head`) has seen enough.
    if (isSystemError(error, 'EPIPE')) process.exit(status);
    complain(`the output could not be written: ${error.message}`);
    process.exit(ExitStatus.failed);
  });
  try {
    const program = await buildProgram(run, argv[2]);
    await program.parseAsync(argv as string[]);
    return status;
  } catch (error) {
    return explain(error);
  }
}

/** Prints an error as one sentence, and gives its exit status. */
function explain(error: unknown): ExitStatus {
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitStatus.done : ExitStatus.usage;
  if (error instanceof MendError) {
    complain(error.message);
    return error.kind === 'usage' ? ExitStatus.usage : ExitStatus.failed;
  }
  if (error instanceof ResponseError) {
    const isOld = error.code === ErrorCodes.MethodNotFound;
    complain(isOld ? 'the daemon that runs is of another version of mend: run "mend daemon restart"' : error.message);
    return ExitStatus.failed;
  }
  // Nobody foresaw this one; where it comes from is for whoever looks into it.
  log('debug', 'mend failed', { error: describeError(error) });
  complain(`${error instanceof Error ? error.message : String(error)} (unexpected: MEND_LOG=debug shows where)`);
  return ExitStatus.failed;
}
