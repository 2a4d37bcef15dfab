/** A link of a Markdown text. */
export interface TextLink {
  /** From 1 on. */
  readonly line: number;
  /** As it stands there, without angle brackets, title and backslashes. */
  readonly target: string;
}

/** UTF-16 units that a target may have. */
const LONGEST = 1024;

/**
 * The links of a Markdown text: inline ones and definitions of references, but no images, and nothing in code or
 * comments. Unlike in Markdown a target may have blanks in it: agents write names as they are.
 */
export function textLinks(text: string): TextLink[] {
  return withoutCode(text.replace(/<!--[\s\S]*?(?:-->|$)/g, (comment) => comment.replace(/[^\n]/g, ' ')))
    .split(/\r?\n/)
    .flatMap((line, index) => lineTargets(withoutSpans(line)).map((target) => ({ line: index + 1, target })));
}

/** Empties the lines of fenced code. A fence without an end runs to the end of the text. */
function withoutCode(text: string): string {
  let fence = '';
  const lines = text.split('\n').map((line) => {
    const mark = /^[ \t>]*(?:[-*+] +)?(`{3,}|~{3,})(.*)/.exec(line);
    const [, signs = '', rest = ''] = mark ?? [];
    if (fence === '') {
      if (!mark || (signs.startsWith('`') && rest.includes('`'))) return line;
      fence = signs;
    } else if (signs.startsWith(fence) && rest.trim() === '') fence = '';
    return '';
  });
  return lines.join('\n');
}

/** Puts blanks for the code in a line: what stands between two rows of as many backticks. */
function withoutSpans(line: string): string {
  if (!line.includes('`')) return line;
  const rows = [...line.matchAll(/`+/g)].map(({ index, 0: row }) => ({ from: index, to: index + row.length }));
  const next: (number | undefined)[] = [];
  const later = new Map<number, number>();
  for (let i = rows.length - 1; i >= 0; i--) {
    const length = (rows[i]?.to ?? 0) - (rows[i]?.from ?? 0);
    next[i] = later.get(length);
    later.set(length, i);
  }
  let kept = '';
  let at = 0;
  for (let i = 0; i < rows.length; i++) {
    const [open, close] = [rows[i], rows[next[i] ?? -1]];
    if (!open || !close) continue;
    kept += line.slice(at, open.from) + ' '.repeat(close.to - open.from);
    at = close.to;
    i = next[i] ?? i;
  }
  return kept + line.slice(at);
}

function lineTargets(line: string): string[] {
  const definition = /^ {0,3}\[(?!\^)[^\]]+\]:\s*(?:<([^>]*)>|(\S+))/.exec(line);
  if (definition) return [unescaped(definition[1] ?? definition[2] ?? '')];
  const targets: string[] = [];
  /** Places of the brackets that are open. */
  const open: number[] = [];
  for (let at = 0; at < line.length; at++) {
    const sign = line[at];
    if (sign === '\\') at++;
    else if (sign === '[') open.push(at);
    else if (sign === ']') {
      const begin = open.pop();
      if (line[at + 1] !== '(') continue;
      // A text that began on the line before is a link all the same.
      const isImage = begin !== undefined && line[begin - 1] === '!';
      const target = readTarget(line.slice(at + 2, at + 2 + LONGEST));
      if (target !== undefined && !isImage) targets.push(target);
    }
  }
  return targets;
}

/** Reads what follows `](` up to its `)`; undefined when it has none. */
function readTarget(rest: string): string | undefined {
  const angled = /^\s*<((?:\\.|[^<>\\])*)>\s*(?:["'(].*?)?\)/.exec(rest);
  if (angled) return unescaped(angled[1] ?? '');
  let depth = 0;
  for (let at = 0; at < rest.length; at++) {
    const sign = rest[at];
    if (sign === '\\') at++;
    else if (sign === '(') depth++;
    else if (sign === ')' && depth-- === 0) return unescaped(withoutTitle(rest.slice(0, at)).trim());
  }
  return undefined;
}

function withoutTitle(target: string): string {
  const end = target.trimEnd();
  const [close] = end.slice(-1);
  if (close !== '"' && close !== "'" && close !== ')') return end;
  const begin = end.lastIndexOf(close === ')' ? ' (' : ` ${close}`, end.length - 2);
  return begin > 0 ? end.slice(0, begin) : end;
}

function unescaped(text: string): string {
  return text.replace(/\\([!-/:-@[-`{-~])/g, '$1');
}
