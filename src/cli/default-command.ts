import type { Command } from 'commander';

/** Refuses words given to a command that runs when none is named: each could only be a command that there is not. */
export function refuseWords(parent: Command, command: Command): void {
  const [word] = command.args;
  if (word !== undefined) refuseCommand(parent, word);
}

/** Refuses a command that a group does not have. */
export function refuseCommand(group: Command, word: string): never {
  return group.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' });
}

/** Has each group refuse its own options for a command that does not take them, as that does behind its name. */
export function refuseOptionsOfGroups(program: Command): void {
  for (const group of program.commands) {
    if (group.commands.length === 0) continue;
    group.hook('preAction', (_, command) => {
      const given = group.options.find(
        (option) =>
          group.getOptionValueSource(option.attributeName()) === 'cli' &&
          !command.options.some(({ long }) => long === option.long),
      );
      if (given) command.error(`error: unknown option '${given.long}'`, { code: 'commander.unknownOption' });
    });
  }
}
