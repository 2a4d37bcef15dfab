import type { Command } from 'commander';

/** Refuses words given to a command that runs when none is named: each could only be a command that there is not. */
export function refuseWords(parent: Command, command: Command): void {
  const [word] = command.args;
  if (word !== undefined) parent.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' });
}
