/** A name or path for a message: a control character, which a terminal would obey, is shown as `?`. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, '?');
}
