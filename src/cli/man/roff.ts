/** Characters that a formatter would take for something else (groff_char(7)). */
const SPECIAL: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  '~': '\\(ti',
  '^': '\\(ha',
  '`': '\\(ga',
  "'": '\\(aq',
};

/** A text as one that a manual page shows as it is. */
export function escapeRoff(text: string): string {
  const escaped = text.replace(/[\\\-~^`']/g, (c) => SPECIAL[c] ?? c);
  return escaped.replace(/^\./gm, '\\&.');
}

/** Argument of a macro. */
export function macroWord(text: string): string {
  return `"${escapeRoff(text).replaceAll('"', '\\(dq')}"`;
}

/** Flags and usage: words bold, and what stands for a value in italics: `<file>`, `[folder]`. */
export function usageRoff(text: string): string {
  return text
    .split(/([<[][^\s>\]]+[>\]])/)
    .map((part, index) => {
      if (part === '') return '';
      if (index % 2 === 0) return part.trim() === '' ? part : `\\fB${escapeRoff(part)}\\fR`;
      const [open, close] = part.startsWith('<') ? ['', ''] : ['[', ']'];
      return `${open}\\fI${escapeRoff(part.slice(1, -1))}\\fR${close}`;
    })
    .join('');
}

/** Paragraphs of plain text; lines that are set in columns or indented stay as they are. */
export function paragraphs(text: string): string {
  return text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => {
      const lines = escapeRoff(paragraph);
      return /^ {2}|\S {2,}\S/m.test(paragraph) ? `.PP\n.nf\n${lines}\n.fi` : `.PP\n${lines}`;
    })
    .join('\n');
}
