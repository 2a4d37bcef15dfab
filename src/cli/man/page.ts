import type { Argument, Command, Option } from 'commander';
import { commandWords } from '../usage-hint.js';
import { ABOUT, ENVIRONMENT, type Entry, EXIT_STATUSES, FILES } from './common-sections.js';
import { escapeRoff, macroWord, paragraphs, usageRoff } from './roff.js';

/** A manual page by the name of its file. */
export interface ManPage {
  readonly file: string;
  readonly text: string;
}

/** What a page says of the release that it goes with. */
export interface Release {
  readonly version: string;
  /** Its date, `YYYY-MM-DD`; empty before the first one. */
  readonly date: string;
}

/** The manual of the whole tree of commands: a page for the program, and one for each of its commands. */
export function manPages(program: Command, release: Release): ManPage[] {
  const commands = visible(program);
  const names = ['mend', ...commands.map((command) => nameOf(command))];
  return [program, ...commands].map((command) => {
    const name = nameOf(command);
    const others = names.filter((other) => other !== name);
    return { file: `${name}.1`, text: `${page(command, release, others)}\n` };
  });
}

function page(command: Command, { version, date }: Release, others: readonly string[]): string {
  const name = nameOf(command);
  const children = visible(command);
  const isProgram = command.parent === null;
  return [
    `.TH ${macroWord(name.toUpperCase())} 1 ${macroWord(date)} ${macroWord(`mend ${version}`)} "mend manual"`,
    `.SH NAME\n${escapeRoff(name)} \\- ${escapeRoff(oneLine(command.description()))}`,
    `.SH SYNOPSIS\n${synopsis(command, isProgram ? [] : children)}`,
    `.SH DESCRIPTION\n${description(command, isProgram)}`,
    ...(isProgram || children.length === 0 ? [] : [`.SH COMMANDS\n${children.map(section).join('\n')}`]),
    ...(isProgram ? [`.SH COMMANDS\n${terms(children.map((child) => [nameOf(child, '1'), summary(child)]))}`] : []),
    `.SH OPTIONS\n${optionEntries(command, 'all').join('\n')}`,
    `.SH EXIT STATUS\n${terms(EXIT_STATUSES)}`,
    `.SH ENVIRONMENT\n${terms(ENVIRONMENT)}`,
    `.SH FILES\n${terms(FILES)}`,
    `.SH SEE ALSO\n${others.map((other) => `\\fB${escapeRoff(other)}\\fR(1)`).join(',\n')}`,
  ].join('\n');
}

/** Commands that people are told of. The help of a command needs no page. */
function visible(command: Command): Command[] {
  const helper = command.createHelp();
  return helper.visibleCommands(command).filter((child) => child.name() !== 'help');
}

function nameOf(command: Command, section = ''): string {
  return commandWords(command).replaceAll(' ', '-') + (section === '' ? '' : `(${section})`);
}

function synopsis(command: Command, children: readonly Command[]): string {
  return [command, ...children].map((one) => usage(one)).join('\n.br\n');
}

function usage(command: Command): string {
  const rest = command.createHelp().commandUsage(command).slice(commandWords(command).length);
  return `\\fB${escapeRoff(commandWords(command))}\\fR${rest.replace(/\[options\]/, '[option...]').replace(/\s[<[].*/, (words) => usageRoff(words))}`;
}

function description(command: Command, isProgram: boolean): string {
  return [
    escapeRoff(sentence(command.description())),
    ...(isProgram ? [paragraphs(ABOUT)] : []),
    ...argumentsOf(command),
    ...afterHelp(command),
  ].join('\n');
}

/** One command of a group. */
function section(command: Command): string {
  const [, name = ''] = /^\S+ (.*)$/.exec(commandWords(command)) ?? [];
  return [
    `.SS ${macroWord(`mend ${name}`)}`,
    `${usage(command)}`,
    `.PP\n${escapeRoff(sentence(command.description()))}`,
    ...argumentsOf(command),
    ...afterHelp(command),
    ...optionEntries(command, 'without help'),
  ].join('\n');
}

function argumentsOf(command: Command): string[] {
  const helper = command.createHelp();
  const described = command.registeredArguments
    .map((argument): [Argument, string] => [argument, helper.argumentDescription(argument)])
    .filter(([, text]) => text !== '');
  return described.map(([argument, text]) => entry(`\\fI${escapeRoff(argument.name())}\\fR`, text));
}

/** Every option of every command has help; within a page it is said once. */
function optionEntries(command: Command, which: 'all' | 'without help'): string[] {
  const helper = command.createHelp();
  return helper
    .visibleOptions(command)
    .filter((option: Option) => which === 'all' || command.options.includes(option))
    .map((option: Option) => entry(usageRoff(option.flags), helper.optionDescription(option)));
}

function terms(entries: readonly Entry[]): string {
  return entries.map(([term, text]) => entry(`\\fB${escapeRoff(term)}\\fR`, text)).join('\n');
}

function entry(term: string, text: string): string {
  return `.TP\n${term}\n${escapeRoff(sentence(text))}`;
}

/** What `addHelpText('after', …)` gave a command. */
function afterHelp(command: Command): string[] {
  const before = command.configureOutput();
  let shown = '';
  command.configureOutput({
    writeOut: (text) => {
      shown += text;
    },
  });
  command.outputHelp();
  command.configureOutput(before);
  const text = shown.slice(command.helpInformation().length);
  return text.trim() === '' ? [] : [paragraphs(text)];
}

function summary(command: Command): string {
  return command.summary() || command.description();
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ');
}

/** A description as a sentence of its own. */
function sentence(text: string): string {
  const line = oneLine(text);
  const started = /^[a-z]+\b(?![.:(=/])/.test(line) ? line.charAt(0).toUpperCase() + line.slice(1) : line;
  return /[.!?]$/.test(started) ? started : `${started}.`;
}
