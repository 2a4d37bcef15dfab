import type { Command, Option } from 'commander';

/** What may stand at the cursor. */
export type Expected =
  | { readonly kind: 'command'; readonly commands: readonly Command[] }
  | { readonly kind: 'option'; readonly options: readonly Option[] }
  | { readonly kind: 'value'; readonly name: string; readonly choices: readonly string[] };

/** Where the cursor stands on a command line of mend. */
export interface Position {
  /** The command that the words before the cursor lead to. */
  readonly command: Command;
  readonly expected: readonly Expected[];
  /** What stands before the value in the word at the cursor: `--project=`, or nothing. */
  readonly prefix: string;
  /** Arguments of the command that are given already. */
  readonly operands: readonly string[];
  /** Values of options that are given already, by the option's long name. */
  readonly given: ReadonlyMap<string, string>;
}

/** Finds out, from the tree of commands alone, what may stand after some words. */
export function positionAfter(program: Command, words: readonly string[], current: string): Position {
  let command = program;
  let helping = false;
  let literal = false;
  let waiting: Option | undefined;
  const operands: string[] = [];
  const given = new Map<string, string>();
  for (const word of words) {
    if (waiting) {
      given.set(waiting.long ?? '', word);
      waiting = undefined;
    } else if (!literal && word === '--' && !isForProgram(command, operands)) {
      literal = true;
    } else if (!literal && word.startsWith('-') && word !== '-' && !isForProgram(command, operands)) {
      const [flag = '', value] = split(word);
      const option = optionOf(command, flag);
      if (option && value !== undefined) given.set(option.long ?? '', value);
      else if (option?.required) waiting = option;
      else if (option) given.set(option.long ?? '', '');
    } else {
      const child = operands.length === 0 && !literal ? command.commands.find((one) => one.name() === word) : undefined;
      if (child?.name() === 'help' && !helping) helping = true;
      else if (child) command = child;
      else operands.push(word);
    }
  }
  const found = { command, operands, given };
  if (waiting) return { ...found, expected: [expectedValue(waiting)], prefix: '' };
  if (literal || !current.startsWith('-') || isForProgram(command, operands))
    return { ...found, expected: operandsAt(command, operands, helping), prefix: '' };
  const [flag = '', value] = split(current);
  const option = value === undefined ? undefined : optionOf(command, flag);
  if (option?.required) return { ...found, expected: [expectedValue(option)], prefix: `${flag}=` };
  const options = command
    .createHelp()
    .visibleOptions(command)
    .filter((one) => !given.has(one.long ?? '') || one.variadic);
  return { ...found, expected: value === undefined ? [{ kind: 'option', options }] : [], prefix: '' };
}

/** Whether what comes next goes to a program that the command starts, options too: `mend run claude --help`. */
function isForProgram({ registeredArguments }: Command, operands: readonly string[]): boolean {
  const passed = registeredArguments.findIndex((argument) => argument.name() === 'args');
  return passed >= 0 && operands.length >= passed;
}

/** Commands that may be named, and arguments. */
function operandsAt(command: Command, operands: readonly string[], helping: boolean): Expected[] {
  const expected: Expected[] = [];
  const commands = visible(command).filter((one) => !helping || one.name() !== 'help');
  if (operands.length === 0 && commands.length > 0) expected.push({ kind: 'command', commands });
  if (helping) return expected;
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[operands.length] ?? (last?.variadic ? last : undefined);
  if (argument) expected.push({ kind: 'value', name: argument.name(), choices: argument.argChoices ?? [] });
  return expected;
}

function visible(command: Command): Command[] {
  return command.createHelp().visibleCommands(command);
}

function optionOf(command: Command, flag: string): Option | undefined {
  return command.options.find((one) => one.long === flag || one.short === flag);
}

/** The value of an option is named by the option where that says more than its placeholder: `--project <name>`. */
function expectedValue(option: Option): Expected {
  const placeholder = /[<[]([^\]>]+)/.exec(option.flags)?.[1]?.replace(/\.\.\.$/, '') ?? '';
  const name = placeholder === 'name' ? option.attributeName() : placeholder;
  return { kind: 'value', name, choices: option.argChoices ?? [] };
}

function split(word: string): [string, string?] {
  const equals = word.startsWith('--') ? word.indexOf('=') : -1;
  return equals < 0 ? [word] : [word.slice(0, equals), word.slice(equals + 1)];
}
