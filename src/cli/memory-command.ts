import { shellWord, shellWords } from '../project/shell-word.js';
import { typedName } from './typed-name.js';

/**
 * A command of `mend memory` for a sentence: in double quotes, with words that a shell takes as they are meant.
 * @param project its name, unless the command is about that of the current folder
 * @param name of the command; empty for the list
 * @param file as `displayName` has it
 * @param rest what stands after the file, such as the number of a version
 */
export function memoryCommand(
  project: string | undefined,
  name = '',
  file?: string,
  rest: readonly string[] = [],
): string {
  const words = ['mend memory', ...(name === '' ? [] : [name]), ...projectWords(project)];
  if (file === undefined) return `"${words.join(' ')}"`;
  const operand = shellWords(typedName(file));
  // Behind "--" an option would be an operand.
  const [before, after] = operand.startsWith('-') && rest[0]?.startsWith('-') ? [rest, []] : [[], rest];
  return `"${[...words, ...before, operand, ...after].join(' ')}"`;
}

/** A command for a checkout or mount, in double quotes, with that of a project which is not that of the current folder. */
export function projectCommand(name: string, project: string | undefined): string {
  return `"${[`mend ${name}`, ...projectWords(project)].join(' ')}"`;
}

function projectWords(project: string | undefined): string[] {
  return project === undefined ? [] : ['--project', shellWord(project)];
}
