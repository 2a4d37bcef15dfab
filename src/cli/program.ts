import { Command } from 'commander';
import { version } from '../daemon/version.js';
import { addHelp } from './commands/help.js';
import { refuseOptionsOfGroups } from './default-command.js';
import { hintAtHelp } from './usage-hint.js';

/** Runs the work of a command and keeps its exit status: one of mend's, or that of a program that it started. */
export type Run = (work: () => Promise<number>) => Promise<void>;

type Add = (program: Command, run: Run) => void;

interface Part {
  readonly group: string;
  /** The word that runs it. */
  readonly name: string;
  readonly load: () => Promise<Add>;
}

/** The commands, in the order of the help. Their code is loaded when it is needed: that takes longer than most commands. */
const PARTS: readonly Part[] = [
  { group: 'Memory folders:', name: 'mount', load: async () => (await import('./commands/mount.js')).addMount },
  { group: 'Memory folders:', name: 'unmount', load: async () => (await import('./commands/unmount.js')).addUnmount },
  { group: 'Memory folders:', name: 'status', load: async () => (await import('./commands/status.js')).addStatus },
  { group: 'Agents:', name: 'run', load: async () => (await import('./commands/run.js')).addRun },
  { group: 'Agents:', name: 'env', load: async () => (await import('./commands/env.js')).addEnv },
  { group: 'Agents:', name: 'session', load: async () => (await import('./commands/session.js')).addSession },
  { group: 'Memory:', name: 'memory', load: async () => (await import('./commands/memory.js')).addMemory },
  { group: 'Memory:', name: 'adopt', load: async () => (await import('./commands/adopt.js')).addAdopt },
  { group: 'Memory:', name: 'project', load: async () => (await import('./commands/project.js')).addProject },
  { group: 'Set-up:', name: 'doctor', load: async () => (await import('./commands/doctor.js')).addDoctor },
  { group: 'Set-up:', name: 'store', load: async () => (await import('./commands/store.js')).addStore },
  { group: 'Set-up:', name: 'credit', load: async () => (await import('./commands/credit.js')).addCredit },
  { group: 'Set-up:', name: 'daemon', load: async () => (await import('./commands/daemon.js')).addDaemon },
  { group: 'Set-up:', name: 'admin', load: async () => (await import('./commands/admin.js')).addAdmin },
  { group: 'Set-up:', name: 'completion', load: async () => (await import('./commands/completion.js')).addCompletion },
];

/** Commands that may be run within a session that several people steer: the others show memory, or change it. */
const OPEN_TO_ALL = new Set(['mount', 'run', 'env', 'session', 'completion']);

/** Commands that look at the other ones. */
const NEEDS_ALL = new Set(['completion']);

/**
 * The tree of all commands, with what their help, completion and man pages say: names, descriptions, arguments and
 * options. Nothing else says it again.
 * @param first the first word of a command line; of a command that needs no other one, only that is in the tree
 */
export async function buildProgram(run: Run, first?: string): Promise<Command> {
  const program = new Command('mend')
    .description('live, versioned, merge-safe memory for coding agents')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ subcommandTerm: term })
    .enablePositionalOptions()
    .exitOverride();
  const alone = PARTS.filter(({ name }) => name === first && !NEEDS_ALL.has(name));
  const parts = alone.length > 0 ? alone : PARTS;
  const adds = await Promise.all(parts.map(({ load }) => load()));
  const outside: Run = (work) =>
    run(async () => {
      (await import('./refuse-shared.js')).refuseShared();
      return work();
    });
  for (const [i, { group, name }] of parts.entries()) {
    program.commandsGroup(group);
    adds[i]?.(program, OPEN_TO_ALL.has(name) ? run : outside);
  }
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
