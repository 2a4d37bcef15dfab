import type { Command } from 'commander';
import { startedHarness } from '../../harness/registry.js';
import { shellWord } from '../../project/shell-word.js';
import { bringUp } from '../bring-up.js';
import { currentFolder } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { findProgram, NoProgram } from '../find-program.js';
import { printJson, printLine } from '../output.js';
import type { Run } from '../program.js';

interface EnvOptions {
  readonly project?: string;
  readonly json?: boolean;
}

export function addEnv(program: Command, run: Run): void {
  program
    .command('env')
    .description('mount the memory of an agent, and print the environment to start it with')
    .summary('mount, and print what to start an agent with')
    .argument('<harness>', 'the agent, such as claude')
    .option('--project <name>', 'the project, from any folder')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
For editors and scripts that start the agent themselves: eval "$(mend env
claude)". Prints nothing where the agent needs nothing besides the environment
that it is called with. Arguments that it has to get first are in a comment;
--json has them as a list. The session of an agent that is started so is the
agent's program with all that it starts. The exit status is 3 when something
was left out of the memory, which is said on standard error.`,
    )
    .action((name: string, options: EnvOptions) => run(() => env(name, options)));
}

async function env(name: string, options: EnvOptions): Promise<ExitStatus> {
  const harness = startedHarness(name);
  const { place, project, memory, cwd, changes, isSettled } = await bringUp(harness, options.project);
  const status = isSettled ? ExitStatus.done : ExitStatus.unsettled;
  const first = harness.launch.args?.(place, []) ?? [];
  if (options.json === true) {
    printJson({
      harness: harness.name,
      project: project.name,
      memory,
      folder: cwd,
      program: programOf(name),
      arguments: first,
      environment: Object.fromEntries(Object.entries(changes).map(([key, value]) => [key, value ?? null])),
    });
    return status;
  }
  for (const [key, value] of Object.entries(changes))
    if (key !== 'PWD') printLine(value === undefined ? `unset ${key}` : `export ${key}=${shellWord(value)}`);
  if (first.length > 0) printLine(`# start it with: ${[name, ...first].map(shellWord).join(' ')}`);
  return status;
}

/** Path of the program that `mend run` would start; null when there is none. */
function programOf(name: string): string | null {
  try {
    return findProgram(startedHarness(name), process.env, currentFolder()).path;
  } catch (error) {
    if (error instanceof NoProgram) return null;
    throw error;
  }
}
