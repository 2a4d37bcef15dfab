import { Command } from 'commander';
import { version } from '../daemon/version.js';
import { addAdopt } from './commands/adopt.js';
import { addCompletion } from './commands/completion.js';
import { addDaemon } from './commands/daemon.js';
import { addDoctor } from './commands/doctor.js';
import { addEnv } from './commands/env.js';
import { addHelp } from './commands/help.js';
import { addMemory } from './commands/memory.js';
import { addMount } from './commands/mount.js';
import { addProject } from './commands/project.js';
import { addRun } from './commands/run.js';
import { addSession } from './commands/session.js';
import { addStatus } from './commands/status.js';
import { addStore } from './commands/store.js';
import { addUnmount } from './commands/unmount.js';
import { refuseOptionsOfGroups } from './default-command.js';
import { hintAtHelp } from './usage-hint.js';

/** Runs the work of a command and keeps its exit status: one of mend's, or that of a program that it started. */
export type Run = (work: () => Promise<number>) => Promise<void>;

/**
 * The tree of all commands, with what their help, completion and man pages say: names, descriptions, arguments and
 * options. Nothing else says it again.
 */
export function buildProgram(run: Run): Command {
  const program = new Command('mend')
    .description('live, versioned, merge-safe memory for coding agents')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ subcommandTerm: term })
    .enablePositionalOptions()
    .exitOverride();
  program.commandsGroup('Memory folders:');
  addMount(program, run);
  addUnmount(program, run);
  addStatus(program, run);
  program.commandsGroup('Agents:');
  addRun(program, run);
  addEnv(program, run);
  addSession(program, run);
  program.commandsGroup('Memory:');
  addMemory(program, run);
  addAdopt(program, run);
  addProject(program, run);
  program.commandsGroup('Set-up:');
  addDoctor(program, run);
  addStore(program, run);
  addDaemon(program, run);
  addCompletion(program, run);
  for (const group of [program, ...program.commands]) if (group.commands.length > 0) addHelp(group);
  hintAtHelp(program);
  refuseOptionsOfGroups(program);
  return program;
}

/** A command in a list of commands: its name, and within a group its arguments. */
function term(command: Command): string {
  if (!command.parent?.parent) return command.name();
  const words = command.registeredArguments.map((argument) => {
    const name = argument.name() + (argument.variadic ? '...' : '');
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...words].join(' ');
}
