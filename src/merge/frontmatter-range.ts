import type { LineTable, Text } from './text.js';

/** Where a text's frontmatter is. */
export interface FrontmatterRange {
  /** Lines from the first, the two fences included. For an open one: those that look as if they belonged to it. */
  readonly end: number;
  /** Whether the closing fence is missing. */
  readonly open: boolean;
}

const none: FrontmatterRange = { end: 0, open: false };

/**
 * Finds the frontmatter: from a first line `---` to the next one. A later `---` is body, and a first one is too when
 * what follows it, comments and blank lines aside, is no key: then it is a rule across the page.
 */
export function findFrontmatter(text: Text, table: LineTable): FrontmatterRange {
  const line = (index: number) => table.line(text.ids[index] ?? -1);
  const count = text.ids.length;
  if (count === 0 || !isFence(line(0))) return none;
  let first = 1;
  while (first < count && /^\s*(?:#|$)/.test(line(first))) first++;
  if (first < count && isFence(line(first))) return { end: first + 1, open: false };
  if (first === count || !/^\s*[^\s:-][^:]*:(?:\s|$)/.test(line(first))) return none;
  for (let index = first + 1; index < count; index++) {
    if (isFence(line(index))) return { end: index + 1, open: false };
  }
  let end = first;
  while (end < count && /^\s*(?:#|-\s|[^\s:][^:]*:(?:\s|$))/.test(line(end))) end++;
  return { end, open: true };
}

function isFence(line: string): boolean {
  return /^---[ \t]*$/.test(line);
}
