import { Argument, type Command } from 'commander';
import { quoteForBash, readBashLine } from '../completion/bash-words.js';
import { type Candidates, candidatesAt } from '../completion/candidates.js';
import { positionAfter } from '../completion/position.js';
import { SCRIPTS, SHELLS, type Shell } from '../completion/scripts.js';
import { ExitStatus } from '../exit-status.js';
import { printLine } from '../output.js';

export function addCompletion(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  program
    .command('completion')
    .description('print the script with which a shell completes commands of mend')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText('after', HELP)
    .action((shell: Shell) =>
      run(async () => {
        process.stdout.write(SCRIPTS[shell]);
        return ExitStatus.done;
      }),
    );
  program
    .command('__complete <shell> [words...]', { hidden: true })
    .passThroughOptions()
    .allowUnknownOption()
    .helpOption(false)
    .action((shell: string, words: string[]) => run(() => complete(program, shell, words)));
}

const HELP = `
bash: add  source <(mend completion bash)  to ~/.bashrc
zsh:  add  source <(mend completion zsh)   to ~/.zshrc, after compinit
fish: run  mend completion fish > ~/.config/fish/completions/mend.fish`;

/** Prints what may be written at the cursor: a line with its kind, then one candidate a line. Never complains. */
async function complete(program: Command, shell: string, given: readonly string[]): Promise<ExitStatus> {
  const words = given[0] === '--' ? given.slice(1) : given;
  try {
    const lines = shell === 'bash' ? await forBash(program, words) : await forOthers(program, words);
    for (const line of lines) printLine(line);
  } catch {
    // A person who types is not to be disturbed. The command, when it is run, says what is wrong.
  }
  return ExitStatus.done;
}

/** zsh and fish split and quote themselves, and choose among all that there is. */
async function forOthers(program: Command, words: readonly string[]): Promise<string[]> {
  const { kind, list } = await lookUp(program, words.slice(0, -1), words.at(-1) ?? '');
  return [kind, ...list.map(({ text, note }) => (note === '' ? text : `${text}\t${note}`))];
}

async function forBash(program: Command, [breaks = '', text = '']: readonly string[]): Promise<string[]> {
  const line = readBashLine(text, breaks);
  const { kind, list } = await lookUp(program, line.words.slice(1), line.current);
  const fitting = list.filter((one) => one.text.startsWith(line.current));
  return [kind, ...fitting.map((one) => quoteForBash(one.text.slice(line.kept), line.quote))];
}

async function lookUp(program: Command, words: readonly string[], current: string): Promise<Candidates> {
  const { kind, list } = await candidatesAt(positionAfter(program, words, current));
  // Nothing that a shell or terminal could take for more than a part of a word.
  return { kind, list: list.filter(({ text, note }) => !/\p{Cc}/u.test(text + note)) };
}
