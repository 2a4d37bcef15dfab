/** A word of a command line that a shell reads as `text`, quoted where it has to be. */
export function shellWord(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Words for the end of a command line, none of which is taken for an option. */
export function shellWords(...words: readonly string[]): string {
  const quoted = words.map(shellWord);
  return (words.some((word) => word.startsWith('-')) ? ['--', ...quoted] : quoted).join(' ');
}
