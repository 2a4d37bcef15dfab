import { changeCount } from '../merge/change-count.js';
import { AT_ONCE, type Known } from './knowledge.js';

/** A save, as far as it matters for what it is measured against. Times are µs since the epoch. */
export interface Save {
  /** The process that saves. */
  readonly pid: number;
  /** When its first byte was written, or its temporary file made. */
  readonly begun: number;
  /** Whether its program makes its text out of what it reads, whatever anybody knew before. */
  readonly edits: boolean;
}

/** Programs that read a file and write it changed, in one go. */
const EDITORS = new Set(['sed', 'ed', 'patch']);

/** Whether a program, by its path, makes its text out of what it reads. */
export function isEditor(executable: string): boolean {
  return EDITORS.has(executable.slice(executable.lastIndexOf('/') + 1));
}

/**
 * The contents that a session's text may have been made from, by their ids (null is an empty one); none when the
 * session never saw the file. Many programs read a file again just before they replace it, which says nothing about
 * where their new text came from: such a read is the second of two (spec §5.3). For an editor of streams it is the
 * only one.
 */
export function candidateBases(known: Known | undefined, save: Save): readonly (number | null)[] {
  if (!known) return [];
  const { settled, read, echo, looked } = known;
  if (!read) return settled ? [settled.content] : [];
  const prepares = read.pid === save.pid && (echo || save.begun - read.at <= AT_ONCE);
  if (!settled || !prepares || save.edits) return [read.content];
  return [...new Set([settled.content, ...(looked ? [looked.content] : []), read.content])];
}

/**
 * Index of the content that explains a text with the fewest changed lines; of equals, the last.
 * @param reread whether the last content was surely read for its own sake: a text that is just what was known before
 *   then takes back, on purpose, what came since; an empty one tells nothing
 */
export function explainingBase(bases: readonly Buffer[], text: Buffer, reread = false): number {
  if (reread && text.length > 0 && bases.length > 1 && bases[0]?.equals(text)) return bases.length - 1;
  let [best, fewest] = [0, Number.POSITIVE_INFINITY];
  bases.forEach((base, index) => {
    const changes = bases.length === 1 ? 0 : changeCount(base, text);
    if (changes <= fewest) [best, fewest] = [index, changes];
  });
  return best;
}
