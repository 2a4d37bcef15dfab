import type { Command } from 'commander';
import { complain } from './output.js';

/** The words that run a command, such as `mend memory show`. */
export function commandWords(command: Command): string {
  return command.parent ? `${commandWords(command.parent)} ${command.name()}` : command.name();
}

/** Has each command's complaint about its own command line end with where its help is. */
export function hintAtHelp(command: Command): void {
  command.configureOutput({
    outputError: (text) => complain(`${sentence(text)}: "${commandWords(command)} --help" says what there is`),
  });
  for (const child of command.commands) hintAtHelp(child);
}

/** Commander's complaint as one sentence: without its prefix, and with what else it says after a comma. */
function sentence(text: string): string {
  return text
    .replace(/^error: /, '')
    .replace(
      /^command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are (.*)\.$/m,
      "the $2 cannot be '$1', only one of $3",
    )
    .replace(/\n\(Did you mean (.*)\?\)/, ', perhaps you mean $1')
    .replace(/\. Expected/, ', expected')
    .replace(/\.?\n$/, '');
}
