import type { Command } from 'commander';
import { refuseCommand } from '../default-command.js';

/** Adds the command that prints the help of another one, which may be a command of a group: `mend help memory show`. */
export function addHelp(group: Command): void {
  group
    .helpCommand(false)
    .command('help')
    .argument('[command...]', 'the words of the command')
    .description('print the help of a command')
    .action((words: string[]) => {
      let command = group;
      for (const word of words) {
        const next = command
          .createHelp()
          .visibleCommands(command)
          .find((one) => one.name() === word);
        if (!next) return refuseCommand(command, word);
        command = next;
      }
      command.help();
    });
}
