import { CST } from 'yaml';

const doubleQuoted = /^"[^"\\]*(?:\\.[^"\\]*)*"$/;
const singleQuoted = /^'[^']*(?:''[^']*)*'$/;
const otherType = /^(?:~|null|true|false|[-+]?(?:\.?\d[\d_.eE+xobA-Fa-f-]*|\.inf|\.nan))$/i;

/**
 * Tells whether two values that are written in different ways are the same to a reader of YAML: a text may stand in
 * double, single or no quotes. A value that is not valid YAML is the text that it is. Lines are latin1.
 */
export function sameValue(one: string, other: string): boolean {
  return one === other || meaning(one) === meaning(other);
}

/** A value's text without its quotes; of a number and the like, which quotes would make a text, the value itself. */
function meaning(value: string): string {
  if (doubleQuoted.test(value)) return `"${value.includes('\\') ? escaped(value) : value.slice(1, -1)}`;
  if (singleQuoted.test(value)) return `"${value.slice(1, -1).replaceAll("''", "'")}`;
  return otherType.test(value) ? value : `"${value}`;
}

/** What a text in double quotes says. Only this scalar is read: a whole document would take a hundred times as long. */
function escaped(value: string): string {
  const source = Buffer.from(value, 'latin1').toString();
  let sound = true;
  const onError = () => {
    sound = false;
  };
  const token = { type: 'double-quoted-scalar', offset: 0, indent: 0, source } as const;
  const text = CST.resolveAsScalar(token, true, onError).value;
  return sound ? Buffer.from(text).toString('latin1') : value;
}

/** Tells whether a value needs more than its line: a block scalar, an anchor, a tag, or brackets or quotes left open. */
export function needsMoreThanItsLine(value: string): boolean {
  if (/^[|>][-+0-9]*(?:\s+#.*)?$/.test(value)) return true;
  if (/^[&!]\S*(?:\s|$)/.test(value) || /^\*[^\s*]+$/.test(value)) return true;
  if (value.startsWith('"')) return !/^"[^"\\]*(?:\\.[^"\\]*)*"/.test(value);
  if (value.startsWith("'")) return !/^'[^']*(?:''[^']*)*'/.test(value);
  return /^[[{]/.test(value) && !closes(value);
}

/** Tells whether as many brackets close as open; brackets in quotes do not count. */
function closes(value: string): boolean {
  let depth = 0;
  let quote = '';
  for (const sign of value) {
    if (quote !== '') quote = sign === quote ? '' : quote;
    else if (sign === '"' || sign === "'") quote = sign;
    else if (sign === '[' || sign === '{') depth++;
    else if (sign === ']' || sign === '}') depth--;
  }
  return depth === 0;
}
