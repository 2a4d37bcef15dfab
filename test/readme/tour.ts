/** One block of commands of the README's tour, and what it prints. */
export interface TourStep {
  readonly commands: string;
  /** Text of the block of output that follows the commands; `…` stands for anything. Undefined when none follows. */
  readonly output: string | undefined;
}

/** Takes the blocks marked `sh tour` and `text tour` out of a Markdown text, in order. */
export function readTour(markdown: string): TourStep[] {
  const blocks = [...markdown.matchAll(/^```(sh|text) tour\n([\s\S]*?)^```$/gm)];
  const steps: { commands: string; output: string | undefined }[] = [];
  for (const [, language, text = ''] of blocks) {
    const last = steps.at(-1);
    if (language === 'sh') steps.push({ commands: text, output: undefined });
    else if (last === undefined || last.output !== undefined) throw new Error('Output without commands in the tour.');
    else last.output = text;
  }
  return steps;
}

/** The pattern that the output of a step must match as a whole. */
export function outputPattern(output: string): RegExp {
  const parts = output.split('…').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('[\\s\\S]*')}$`);
}
