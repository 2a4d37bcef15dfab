import type { Command } from 'commander';
import type { Expected, Position } from './position.js';
import { isPathKind, type PathKind, valuesOf } from './values.js';

/** One thing that may be written at the cursor. */
export interface Candidate {
  readonly text: string;
  /** Shown beside it by shells that can. */
  readonly note: string;
}

/** What may be written at the cursor: these, or what the shell itself finds. */
export interface Candidates {
  readonly kind: 'values' | PathKind;
  readonly list: readonly Candidate[];
}

/** Looks up everything that may stand at a position. */
export async function candidatesAt(position: Position): Promise<Candidates> {
  let kind: Candidates['kind'] = 'values';
  const list: Candidate[] = [];
  for (const expected of position.expected) {
    const found = await candidatesFor(expected, position);
    if (isPathKind(found)) kind = found;
    else list.push(...found);
  }
  return { kind, list: list.map(({ text, note }) => ({ text: position.prefix + text, note })) };
}

async function candidatesFor(expected: Expected, position: Position): Promise<readonly Candidate[] | PathKind> {
  switch (expected.kind) {
    case 'command':
      return expected.commands.map((command) => ({ text: command.name(), note: oneLine(describe(command)) }));
    case 'option':
      return expected.options.map((option) => ({
        text: option.long ?? option.flags,
        note: oneLine(option.description),
      }));
    case 'value':
      if (expected.choices.length > 0) return expected.choices.map((text) => ({ text, note: '' }));
      return valuesOf(expected.name, position);
  }
}

function describe(command: Command): string {
  return command.summary() || command.description();
}

function oneLine(text: string): string {
  return text.replace(/\n/g, ' ');
}
