import { type Block, deepest, longest, type Node } from './frontmatter-tree.js';
import { needsMoreThanItsLine } from './scalar.js';

/** What is beyond plain keys, mappings and lists of scalars. */
class Beyond extends Error {}

interface Line {
  readonly text: string;
  readonly at: number;
  readonly indent: number;
}

/**
 * Reads the lines between the fences as block mappings of `key: value` lines, block lists of scalars, comments and
 * blank lines. `undefined` when they hold anything else: block scalars, values over several lines, anchors, tabs as
 * indent, a key twice, too many lines. `first` is the place of the first line in its side.
 */
export function parseFrontmatter(lines: readonly string[], first: number): Block | undefined {
  if (lines.length > longest) return undefined;
  try {
    return new Parser(lines, first).top();
  } catch (error) {
    if (error instanceof Beyond) return undefined;
    throw error;
  }
}

class Parser {
  readonly #lines: Line[];
  /** For each line the first line from there on that is neither blank nor a comment. */
  readonly #ahead: (Line | undefined)[];
  #next = 0;

  constructor(lines: readonly string[], first: number) {
    this.#lines = lines.map((text, index) => ({
      text,
      at: first + index,
      indent: text.length - text.trimStart().length,
    }));
    this.#ahead = new Array(lines.length).fill(undefined);
    let ahead: Line | undefined;
    for (let index = lines.length - 1; index >= 0; index--) {
      const line = this.#lines[index];
      if (line !== undefined && !isNote(line.text)) {
        if (line.text.slice(0, line.indent).includes('\t')) throw new Beyond();
        ahead = line;
      }
      this.#ahead[index] = ahead;
    }
  }

  top(): Block {
    const block = this.#block(this.#ahead[0]?.indent ?? 0, false, 0);
    if (this.#next < this.#lines.length) throw new Beyond();
    return block;
  }

  #block(indent: number, list: boolean, depth: number): Block {
    if (depth > deepest) throw new Beyond();
    const nodes: Node[] = [];
    const seen = new Map<string, number>();
    let started = depth === 0;
    /** Names what may stand there more than once. */
    const name = (text: string): string => {
      const count = seen.get(text) ?? 0;
      seen.set(text, count + 1);
      return `${text} ${count}`;
    };
    for (let line = this.#lines[this.#next]; line !== undefined; line = this.#lines[this.#next]) {
      const raw = line.text.slice(line.indent);
      if (isNote(line.text)) {
        if (started && this.#endsHere(line, indent, list, depth)) break;
        nodes.push({ kind: 'note', id: name(`# ${raw.trimEnd()}`), at: line.at, indent: line.indent, raw, value: '' });
        this.#next++;
        continue;
      }
      if (line.indent < indent) break;
      const item = /^-(?:[ \t]+(.*))?$/.exec(raw);
      if (!list && item !== null && line.indent === indent && depth > 0) break;
      if (line.indent > indent || (item !== null) !== list) {
        // A list at the indent of its key ends where the next key stands.
        if (list && item === null && line.indent === indent) break;
        throw new Beyond();
      }
      this.#next++;
      started = true;
      if (item !== null) {
        const value = (item[1] ?? '').trimEnd();
        if (value === '' || needsMoreThanItsLine(value) || /^-\s/.test(value)) throw new Beyond();
        nodes.push({ kind: 'item', id: name(`- ${withoutQuotes(value)}`), at: line.at, indent, raw, value });
      } else nodes.push(this.#entry(line, raw, seen, depth));
    }
    return { kind: list ? 'list' : 'map', indent, nodes };
  }

  #entry(line: Line, raw: string, seen: Map<string, number>, depth: number): Node {
    const { key, rest } = splitEntry(raw);
    if (needsMoreThanItsLine(rest.trim())) throw new Beyond();
    const id = `: ${withoutQuotes(key)}`;
    if (seen.has(id)) throw new Beyond();
    seen.set(id, 1);
    const value = rest.trimStart().startsWith('#') ? '' : rest.trim();
    const ahead = this.#ahead[this.#next];
    const isList = ahead !== undefined && /^-(?:\s|$)/.test(ahead.text.slice(ahead.indent));
    const nested = ahead !== undefined && (ahead.indent > line.indent || (isList && ahead.indent === line.indent));
    if (nested && value !== '') throw new Beyond();
    const block = nested ? this.#block(ahead.indent, isList, depth + 1) : undefined;
    return { kind: 'entry', id, at: line.at, indent: line.indent, raw, value, block };
  }

  /** Whether a comment or blank line stands behind the block rather than in it. */
  #endsHere(line: Line, indent: number, list: boolean, depth: number): boolean {
    if (depth === 0) return false;
    if (line.text.trim() !== '') return line.indent < indent;
    const ahead = this.#ahead[this.#next];
    if (ahead === undefined) return true;
    return ahead.indent < indent || (list && !/^-(?:\s|$)/.test(ahead.text.slice(ahead.indent)));
  }
}

function isNote(text: string): boolean {
  return /^\s*(?:#|$)/.test(text);
}

function withoutQuotes(text: string): string {
  return text.replace(/^(["'])(.*)\1$/, '$2');
}

/** Parts `key: rest`: a key in quotes or without, a colon, and a blank or the end of the line. */
function splitEntry(raw: string): { key: string; rest: string } {
  const quoted = /^(?:"[^"\\]*(?:\\.[^"\\]*)*"|'[^']*(?:''[^']*)*')/.exec(raw)?.[0];
  if (quoted === undefined && /^["'#&*!|>%@`,[\]{}?]/.test(raw)) throw new Beyond();
  let colon = raw.indexOf(':', quoted?.length ?? 0);
  while (colon !== -1 && !/^[ \t]?$/.test(raw.charAt(colon + 1))) colon = raw.indexOf(':', colon + 1);
  const key = raw.slice(0, colon).trimEnd();
  if (colon === -1 || key === '' || (quoted !== undefined && key !== quoted)) throw new Beyond();
  return { key, rest: raw.slice(colon + 1) };
}
