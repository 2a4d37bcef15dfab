import { hasUnseen, quoted } from './output.js';

/**
 * A file's name as it can be typed: as it is, or as lists show one that has control characters or others which take no
 * room, with its double quotes: `"a\tb.md"`.
 */
export function typedName(name: string): string {
  return needsQuotes(name) ? quoted(name) : name;
}

/** The name that a text stands for when it is written as `typedName` writes what cannot be typed; undefined when not. */
export function nameTyped(text: string): string | undefined {
  if (!/^".*"$/.test(text)) return undefined;
  let name: unknown;
  try {
    name = JSON.parse(text);
  } catch {
    return undefined;
  }
  return typeof name === 'string' && quoted(name) === text && needsQuotes(name) ? name : undefined;
}

/** True also of a name that would be taken for another one. */
function needsQuotes(name: string): boolean {
  return hasUnseen(name) || nameTyped(name) !== undefined;
}
